import { expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { type GatewayFigures, GatewayHistory } from "../../src/http/gateway-history.ts";

const minuteMs = 60_000;

function historyOf(figures: () => GatewayFigures | null) {
  const clock = manualClock();
  const read = async () => {
    const now = figures();
    if (now === null) throw new Error("The gateway does not answer.");
    return now;
  };
  return { clock, history: new GatewayHistory({ figures: read, clock }) };
}

test("a minute has the most connections and all messages of its samples", async () => {
  let now: GatewayFigures | null = { connections: 3, published: 100 };
  const { clock, history } = historyOf(() => now);
  await history.sample();
  now = { connections: 9, published: 130 };
  clock.advance(15_000);
  await history.sample();
  now = { connections: 2, published: 131 };
  clock.advance(minuteMs);
  await history.sample();
  const { hour, day } = history.series();
  expect(hour.map(({ connections, messages }) => [connections, messages])).toEqual([
    [9, 30],
    [2, 1],
  ]);
  expect(day.map(({ connections, messages }) => [connections, messages])).toEqual([[9, 31]]);
});

test("a gateway that is away leaves a gap, and a restarted gateway counts from 0", async () => {
  let now: GatewayFigures | null = { connections: 1, published: 500 };
  const { clock, history } = historyOf(() => now);
  await history.sample();
  now = null;
  clock.advance(minuteMs);
  await history.sample();
  now = { connections: 1, published: 7 };
  clock.advance(minuteMs);
  await history.sample();
  expect(history.series().hour.map(({ messages }) => messages)).toEqual([0, 7]);
});

test("the series are bounded, whatever the time that passes", async () => {
  let published = 0;
  const { clock, history } = historyOf(() => ({ connections: 1, published: ++published }));
  for (let minute = 0; minute < 3 * 24 * 60; minute++) {
    await history.sample();
    clock.advance(minuteMs);
  }
  const { hour, day } = history.series();
  expect(hour.length).toBeLessThanOrEqual(61);
  expect(day.length).toBeLessThanOrEqual(97);
  expect(day.reduce((sum, { messages }) => sum + messages, 0)).toBe(24 * 60);
});
