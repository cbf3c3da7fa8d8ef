import { describe, expect, test } from "bun:test";
import type { RunningService } from "../../src/model/service/running-service.ts";
import { isCrashLoop } from "../../src/task/service/crash-loop.ts";
import { judge, upAfterMs } from "../../src/task/service/judge-service.ts";
import { sampleService, sampleTime } from "../support/samples.ts";

const at = (seconds: number) => new Date(sampleTime.getTime() + seconds * 1000);
const exitsAt = (...seconds: number[]) => seconds.map((second) => at(second).toISOString());

/** The events of reports that follow each other, each after so many seconds. */
function eventsOf(...reports: [number, Partial<RunningService>][]): (string | null)[] {
  let known: RunningService | undefined;
  return reports.map(([seconds, change]) => {
    const now = sampleService({ reportedAt: at(seconds), ...change });
    const { event, ...marks } = judge(known, now);
    known = { ...now, ...marks };
    return event;
  });
}

describe("people are notified", () => {
  test("once when it ends, and once when it has served for half a minute", () => {
    expect(
      eventsOf(
        [0, { state: "serving" }],
        [10, { state: "restarting", exits: exitsAt(9) }],
        [12, { state: "starting", exits: exitsAt(9) }],
        [20, { state: "serving", exits: exitsAt(9) }],
        [40, { state: "serving", exits: exitsAt(9) }],
        [20 + upAfterMs / 1000, { state: "serving", exits: exitsAt(9) }],
        [80, { state: "serving", exits: exitsAt(9) }],
      ),
    ).toEqual([null, "service.down", null, null, null, "service.up", null]);
  });
  test("of an end that no report has shown", () => {
    expect(eventsOf([0, {}], [10, { exits: exitsAt(5) }], [20, { exits: exitsAt(5) }])).toEqual([
      null,
      "service.down",
      null,
    ]);
  });
  test("once of a crash loop, however often it serves for a moment", () => {
    const reports = Array.from({ length: 40 }, (_, i): [number, Partial<RunningService>] => [
      i * 10,
      { state: i % 2 === 0 ? "serving" : "restarting", exits: i === 0 ? [] : exitsAt(i * 10 - 1) },
    ]);
    expect(eventsOf(...reports).filter((event) => event !== null)).toEqual(["service.down"]);
  });
  test("when a later release serves, but not of ends during its deploy", () => {
    expect(
      eventsOf(
        [0, { state: "down" }],
        [10, { taskId: 13, exits: exitsAt(8) }],
        [40, { taskId: 13, exits: exitsAt(8) }],
      ),
    ).toEqual(["service.down", null, "service.up"]);
  });
  test("neither when a person stops it, nor when they start it again", () => {
    expect(
      eventsOf([0, {}], [10, { state: "stopped" }], [20, { state: "starting" }], [30, {}], [90, {}]),
    ).toEqual([null, null, null, null, null]);
  });
  test("when its check fails", () => {
    expect(eventsOf([0, {}], [10, { state: "unhealthy" }], [20, {}], [50, {}])).toEqual([
      null,
      "service.down",
      null,
      "service.up",
    ]);
  });
});

describe("a crash loop", () => {
  const looping = { state: "restarting", startedAt: at(0), exits: exitsAt(1, 3, 6, 11, 20) } as const;
  test("is five ends within a minute since it was started", () => {
    expect(isCrashLoop(sampleService(looping))).toBe(true);
    expect(isCrashLoop(sampleService({ ...looping, exits: exitsAt(1, 3, 6, 11) }))).toBe(false);
    expect(isCrashLoop(sampleService({ ...looping, exits: exitsAt(1, 3, 6, 11, 62) }))).toBe(false);
    expect(isCrashLoop(sampleService({ ...looping, startedAt: at(2) }))).toBe(false);
  });
  test("is over when it serves", () => {
    expect(isCrashLoop(sampleService({ ...looping, state: "serving" }))).toBe(false);
  });
});
