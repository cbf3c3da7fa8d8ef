import { expect, test } from "bun:test";
import { oneAtATime } from "../../console/one-at-a-time.ts";
import { eventually } from "../support/eventually.ts";

test("calls during a run are followed by one more run, also if it fails", async () => {
  const runs: { end: () => void; fail: (error: Error) => void }[] = [];
  let parallel = 0;
  const start = oneAtATime(async () => {
    expect(++parallel).toBe(1);
    const { promise, resolve: end, reject: fail } = Promise.withResolvers<void>();
    runs.push({ end, fail });
    await promise.finally(() => parallel--);
  });
  start();
  expect(runs.length).toBe(1);
  start();
  start();
  runs[0]?.fail(new Error("not reached"));
  await eventually("the second run starts", () => runs.length === 2);
  runs[1]?.end();
  await eventually("it has ended", () => parallel === 0);
  start();
  await eventually("a later call starts the next", () => runs.length === 3);
  runs[2]?.end();
});

test("a call at the moment when a run ends is not forgotten", async () => {
  for (let turns = 0; turns < 8; turns++) {
    let runs = 0;
    const start = oneAtATime(async () => {
      if (++runs === 1) void startAfter(turns);
    });
    const startAfter = async (count: number) => {
      for (let turn = 0; turn < count; turn++) await undefined;
      start();
    };
    start();
    await eventually(`it runs again, ${turns} turns later`, () => runs === 2);
  }
});
