import { describe, expect, test } from "bun:test";
import pino from "pino";
import { manualClock } from "../../src/clock.ts";
import { type GatewayFigures, GatewayHistory } from "../../src/http/gateway-history.ts";
import type { Store } from "../../src/model/store.ts";
import { availableDatabases } from "../support/databases.ts";
import { setUpStore } from "../support/store-setup.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const log = pino({ level: "silent" });

describe.each(await availableDatabases())("the history of gateways in $name", async ({ make }) => {
  const { store, database } = await setUpStore(make);
  // Each test has a time of its own, at the beginning of a quarter of an hour.
  const clock = manualClock(Date.UTC(2026, 0, 1, 12, 1));
  const nextDay = () => clock.advance(2 * dayMs + minuteMs * 15 - (clock.now() % (15 * minuteMs)) + minuteMs);

  /** A gateway and the history that a server records of it. */
  function gateway(name: string, { isCluster = false, from = store as Store } = {}) {
    const counted = { connections: 0, published: 0, isAway: false };
    const figures = async (): Promise<GatewayFigures> => {
      if (counted.isAway) throw new Error("The gateway does not answer.");
      return { gateway: name, isCluster, connections: counted.connections, published: counted.published };
    };
    const start = (keepers: Pick<Store, "gatewayMinutes"> = from) =>
      new GatewayHistory({
        figures,
        store: { gatewayMinutes: keepers.gatewayMinutes, now: () => new Date(clock.now()) },
        log,
      });
    return { counted, start, history: start() };
  }
  const figuresOf = (points: { connections: number; messages: number }[]) =>
    points.map(({ connections, messages }) => [connections, messages]);

  test("a minute has the most connections and all messages of its samples", async () => {
    nextDay();
    const { counted, history } = gateway("samples");
    Object.assign(counted, { connections: 3, published: 100 });
    await history.sample();
    Object.assign(counted, { connections: 9, published: 130 });
    clock.advance(15_000);
    await history.sample();
    Object.assign(counted, { connections: 2, published: 131 });
    clock.advance(minuteMs);
    await history.sample();
    const { hour, day, connections, gateways } = await history.series();
    expect(figuresOf(hour)).toEqual([
      [9, 30],
      [2, 1],
    ]);
    expect(figuresOf(day)).toEqual([[9, 31]]);
    expect([connections, gateways]).toEqual([2, 1]);
  });

  test("a gateway that is away leaves a gap, not a zero, and a restarted gateway counts from 0", async () => {
    nextDay();
    const { counted, history } = gateway("restarted");
    Object.assign(counted, { connections: 1, published: 500 });
    await history.sample();
    counted.isAway = true;
    for (let minute = 0; minute < 3; minute++) {
      clock.advance(minuteMs);
      await history.sample();
    }
    expect(await history.series()).toMatchObject({ connections: null, gateways: 0 });
    counted.isAway = false;
    counted.published = 7;
    clock.advance(minuteMs);
    await history.sample();
    const { hour } = await history.series();
    expect(figuresOf(hour)).toEqual([
      [1, 0],
      [1, 7],
    ]);
    expect(hour.map(({ at }) => clock.now() - at.getTime())).toEqual([4 * minuteMs, 0]);
  });

  test("a server that is restarted continues the minute, also after an end without a last sample", async () => {
    nextDay();
    const { counted, history, start } = gateway("continued");
    await history.sample();
    Object.assign(counted, { connections: 4, published: 5 });
    await history.close();
    Object.assign(counted, { connections: 0, published: 0 });
    const second = start();
    await second.sample();
    Object.assign(counted, { connections: 2, published: 3 });
    await second.sample();
    const killed = start();
    await killed.sample();
    counted.published = 4;
    await killed.sample();
    expect(figuresOf((await killed.series()).hour)).toEqual([[4, 9]]);
  });

  test("connections of several gateways are added; messages of a cluster count once", async () => {
    nextDay();
    const other = await database.open();
    const alone = gateway("alone");
    const nodes = [
      gateway("node 1", { isCluster: true }),
      gateway("node 2", { isCluster: true, from: other }),
    ];
    const all = [alone, ...nodes];
    for (const { history } of all) await history.sample();
    Object.assign(alone.counted, { connections: 1, published: 10 });
    for (const { counted } of nodes) Object.assign(counted, { connections: 20, published: 300 });
    for (const { history } of all) await history.sample();
    for (const { history } of all)
      expect(await history.series()).toMatchObject({
        connections: 41,
        gateways: 3,
        hour: [{ connections: 41, messages: 310 }],
        day: [{ connections: 41, messages: 310 }],
      });
    // In the next minute one of the three was sampled, and the others are still there.
    clock.advance(minuteMs);
    await alone.history.sample();
    expect(await alone.history.series()).toMatchObject({ connections: 41, gateways: 3 });
    expect(figuresOf((await alone.history.series()).hour)).toEqual([
      [41, 310],
      [41, 0],
    ]);
    clock.advance(minuteMs);
    await alone.history.sample();
    const { hour, ...later } = await alone.history.series();
    expect(later).toMatchObject({ connections: 1, gateways: 1 });
    expect(figuresOf(hour)).toEqual([
      [41, 310],
      [1, 0],
      [1, 0],
    ]);
  });

  test("two servers that record the same gateway do not count its messages twice", async () => {
    nextDay();
    const { counted, history, start } = gateway("https://push.example.com");
    const second = start(await database.open());
    for (const each of [history, second]) await each.sample();
    Object.assign(counted, { connections: 5, published: 12 });
    for (const each of [history, second]) await each.sample();
    expect(await second.series()).toMatchObject({
      gateways: 1,
      hour: [{ connections: 5, messages: 12 }],
    });
  });

  test("figures wait for a database that is away, and an unchanged minute is written once", async () => {
    nextDay();
    const writes: number[] = [];
    let isAway = false;
    const { counted, start } = gateway("waiting");
    const history = start({
      gatewayMinutes: {
        ...store.gatewayMinutes,
        async record(minutes, now) {
          if (isAway) throw new Error("The database is away.");
          writes.push(minutes.length);
          await store.gatewayMinutes.record(minutes, now);
        },
      },
    });
    for (let sample = 0; sample < 3; sample++) await history.sample();
    expect(writes).toEqual([1]);
    isAway = true;
    for (const published of [1, 2, 3]) {
      clock.advance(minuteMs);
      counted.published = published;
      await history.sample();
    }
    isAway = false;
    await history.sample();
    expect(writes).toEqual([1, 3]);
    expect(figuresOf((await history.series()).hour).map(([, messages]) => messages)).toEqual([0, 1, 1, 1]);
  });

  test("a day is kept: older minutes, and those of a clock that was set back, are deleted", async () => {
    nextDay();
    const { history } = gateway("kept");
    const at = (minutes: number) => new Date(clock.now() - minutes * minuteMs);
    const days = Array.from({ length: 3 * 24 * 60 }, (_, minute) => ({
      ...{ at: at(minute), gateway: "kept", connections: 1, messages: 1, isCluster: false },
    }));
    for (let from = 0; from < days.length; from += 1000)
      await store.gatewayMinutes.record(days.slice(from, from + 1000), at(0));
    await store.gatewayMinutes.record(
      [{ at: at(-600), gateway: "kept", connections: 1, messages: 1, isCluster: false }],
      at(0),
    );
    const kept = await store.gatewayMinutes.between(new Date(0), at(-1_000_000));
    expect(kept.length).toBe(25 * 60 + 1);
    const { hour, day } = await history.series();
    expect(hour).toHaveLength(61);
    expect(day.length).toBeLessThanOrEqual(97);
    expect(day.reduce((sum, { messages }) => sum + messages, 0)).toBe(24 * 60 + 1);
  });
});
