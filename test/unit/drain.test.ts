import { describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import type { Socket } from "../../src/push/connection/connection.ts";
import { Connections } from "../../src/push/connection/connections.ts";
import { Drain } from "../../src/push/drain.ts";

/** One connection with unsent bytes, in a drain of one second after a delay of one. */
function drainOf(unsentBytes: number, hasOtherInstance = true) {
  const clock = manualClock(0);
  const connections = new Connections();
  const state = { unsentBytes, closedWith: 0 };
  const socket = {
    data: { id: "1", userId: "ann", kind: "normal", isV1: false, channels: null, catchUpPosition: -1 },
    getBufferedAmount: () => state.unsentBytes,
    close(code: number) {
      state.closedWith = code;
      connections.remove(socket);
    },
  } as unknown as Socket;
  connections.add(socket);
  const drain = new Drain(
    { drainDelayMs: 1000, drainPeriodMs: 1000, delaysWhenEmpty: true },
    { connections, hasOtherInstance: () => hasOtherInstance, clock, random: () => 0 },
  );
  let isFinished = false;
  void drain.start().then(() => {
    isFinished = true;
  });
  return {
    state,
    async at(ms: number) {
      clock.advance(ms - clock.now());
      drain.tick(clock.now());
      await Promise.resolve();
      return isFinished;
    },
  };
}

describe("drain", () => {
  test("a due connection is closed as soon as it is flushed", async () => {
    const { state, at } = drainOf(100);
    expect(await at(1500)).toBe(false);
    expect(await at(2500)).toBe(false);
    expect(state.closedWith).toBe(0);
    state.unsentBytes = 0;
    expect(await at(2600)).toBe(true);
    expect(state.closedWith).toBe(1012);
  });

  test("a connection that reads nothing delays the drain by at most five seconds", async () => {
    const { state, at } = drainOf(100);
    expect(await at(6900)).toBe(false);
    expect(state.closedWith).toBe(0);
    expect(await at(7000)).toBe(true);
    expect(state.closedWith).toBe(1012);
  });

  test("without another instance all are closed at once, because they could connect nowhere meanwhile", async () => {
    const { state, at } = drainOf(0, false);
    expect(state.closedWith).toBe(1012);
    expect(await at(0)).toBe(true);
  });

  test("without another instance a connection that reads nothing delays the others by at most two seconds", async () => {
    const { state, at } = drainOf(100, false);
    expect(await at(1900)).toBe(false);
    expect(state.closedWith).toBe(0);
    expect(await at(2000)).toBe(true);
    expect(state.closedWith).toBe(1012);
  });
});
