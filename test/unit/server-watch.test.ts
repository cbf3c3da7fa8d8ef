import { expect, test } from "bun:test";
import pino from "pino";
import { manualClock } from "../../src/clock.ts";
import { ServerRefusal } from "../../src/runner/server/server-client.ts";
import { buildServerWatch } from "../../src/runner/server/server-watch.ts";

function watched() {
  const clock = manualClock();
  const lines: { level: string; msg: string }[] = [];
  const log = pino(
    { formatters: { level: (label) => ({ level: label }) } },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const watch = buildServerWatch({ clock, log, random: () => 1 });
  /** Tries until this much time has gone by, and answers the waits between the tries. */
  const tryFor = (ms: number, error: Error): number[] => {
    const waits: number[] = [];
    for (let spentMs = 0; spentMs < ms; ) {
      const waitMs = watch.failed(error);
      waits.push(waitMs);
      clock.advance(waitMs);
      spentMs += waitMs;
    }
    return waits;
  };
  return { watch, lines, tryFor };
}

test("a server that stays away for an hour is mentioned once and then every ten minutes", () => {
  const { lines, tryFor, watch } = watched();
  const waits = tryFor(3_600_000, new Error("Unable to connect"));
  expect(waits.slice(0, 3)).toEqual([100, 200, 400]);
  expect(Math.max(...waits)).toBe(10_000);
  expect(lines.map(({ level }) => level)).toEqual(Array(6).fill("warn"));
  watch.answered();
  watch.answered();
  expect(lines.slice(6).map(({ msg }) => msg)).toEqual(["the server answers again"]);
});

test("a refused token is logged as an error at each try, and tried once a minute", () => {
  const { lines, tryFor } = watched();
  const waits = tryFor(600_000, new ServerRefusal(401, "the server answered 401"));
  expect(waits.slice(0, 2)).toEqual([5000, 10_000]);
  expect(Math.max(...waits)).toBe(60_000);
  expect(lines.map(({ level }) => level)).toEqual(Array(waits.length).fill("error"));
});
