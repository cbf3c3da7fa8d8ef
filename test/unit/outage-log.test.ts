import { expect, test } from "bun:test";
import { OutageLog } from "../../src/bus/outage-log.ts";
import { manualClock } from "../../src/clock.ts";
import { keptLog } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";

test("refused publishes of a period are one line with their number and the last reason", async () => {
  const { log, lines } = keptLog();
  const outages = new OutageLog(log, manualClock(), 20);
  for (let number = 1; number <= 1_000; number++) outages.noteRefused(`reason ${number}`);
  expect(lines).toEqual([]);
  await eventually("the period is over", () => lines.length > 0);
  outages.noteRefused("a later reason");
  outages.close();
  outages.close();
  expect(lines).toMatchObject([
    { level: 40, refused: 1_000, lastReason: "reason 1000" },
    { level: 40, refused: 1, lastReason: "a later reason" },
  ]);
});

test("an outage that goes on is logged once a minute, and each of its kinds separately", () => {
  const { log, lines } = keptLog();
  const clock = manualClock();
  const outages = new OutageLog(log, clock);
  for (let second = 0; second < 120; second++, clock.advance(1_000)) {
    outages.note("away", "connection refused");
    outages.note("refusing", "low on memory");
  }
  expect(lines.map(({ detail }) => detail)).toEqual([
    "connection refused",
    "low on memory",
    "connection refused",
    "low on memory",
  ]);
});
