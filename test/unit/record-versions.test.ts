import { describe, expect, test } from "bun:test";
import { readableVersion } from "../../src/bus/record-version.ts";
import { newPushCounters } from "../../src/push/message/counters.ts";
import { SkippedRecords } from "../../src/push/message/skipped-records.ts";
import { silentLog } from "../support/buses.ts";

const beat = {
  v: readableVersion + 1,
  id: "p-1",
  node: "later",
  type: "presence",
  process: "p",
  kind: "beat",
};

function skipping() {
  const clock = { time: 100_000, now: () => clock.time, elapsed: () => clock.time };
  const counters = newPushCounters();
  return { clock, counters, skipped: new SkippedRecords(counters, clock, silentLog) };
}

describe("records that an instance cannot read", () => {
  test("of a process of a later version: it is not ready for as long as that one writes", () => {
    const { clock, counters, skipped } = skipping();
    skipped.note("control", beat, 0);
    expect(skipped.problem).toStartWith("instances of a later version write records of version 2, and");
    clock.time += 14_999;
    expect(skipped.problem).not.toBeNull();
    clock.time += 1;
    expect(skipped.problem).toBeNull();
    expect(counters).toMatchObject({ later: 1, unreadable: 0 });
  });

  test("that a starting read finds and that are old do not count as a running instance", () => {
    const { skipped } = skipping();
    skipped.note("control", beat, 20_000);
    expect(skipped.problem).toBeNull();
  });

  test("that other services may write take no instance out of service", () => {
    const { counters, skipped } = skipping();
    skipped.note("broadcast", beat, 0);
    skipped.note("control", { ...beat, type: "join" }, 0);
    skipped.note("broadcast", { v: 9, targetType: "all", data: "x" }, 0);
    skipped.note("broadcast", "text", 0);
    expect(skipped.problem).toBeNull();
    expect(counters).toMatchObject({ later: 2, unreadable: 2 });
  });
});
