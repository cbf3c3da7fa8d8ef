import { describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import type { Socket } from "../../src/push/connection/connection.ts";
import { SendBuffers } from "../../src/push/fanout/send-buffer.ts";

const mebibyte = 1024 * 1024;

/** Connections whose unsent bytes the test sets, in MiB. */
function connectionsOf(change: { sendBufferTotalBytes?: number } = {}) {
  const clock = manualClock();
  const buffers = new SendBuffers(
    {
      compresses: false,
      maxMessageBytes: mebibyte,
      sendBufferBytes: mebibyte,
      sendBufferTotalBytes: 64 * mebibyte,
      slowConsumerTimeoutMs: 30_000,
      ...change,
    },
    clock,
  );
  const unsent: Record<string, number> = {};
  const closed: string[] = [];
  const socketOf = (name: string) =>
    ({
      getBufferedAmount: () => (unsent[name] ?? 0) * mebibyte,
      close: (code: number) => closed.push(`${name} ${code}`),
    }) as unknown as Socket;
  const sockets = new Map<string, Socket>();
  const sweep = (now: Record<string, number>) => {
    Object.assign(unsent, now);
    for (const name of Object.keys(unsent)) if (!sockets.has(name)) sockets.set(name, socketOf(name));
    const open = [...sockets].filter(([name]) => !closed.includes(`${name} 4102`));
    buffers.sweep(open.map(([, socket]) => socket));
  };
  /** Sweeps as often as a gateway does. */
  const pass = (ms: number, now: Record<string, number> = {}) => {
    for (let passed = 0; passed < ms; passed += 250) {
      clock.advance(250);
      sweep(now);
    }
  };
  return { buffers, clock, closed, sweep, pass, socket: (name: string) => sockets.get(name) as Socket };
}

describe("a slow consumer", () => {
  test("above its buffer is closed after a second without progress", () => {
    const { closed, sweep, pass } = connectionsOf();
    sweep({ ann: 2, bob: 2 });
    pass(750);
    sweep({ ann: 1.9 });
    expect(closed).toEqual([]);
    pass(250);
    expect(closed).toEqual(["bob 4102"]);
    pass(500);
    expect(closed).toEqual(["bob 4102"]);
    pass(500);
    expect(closed).toEqual(["bob 4102", "ann 4102"]);
  });

  test("that the runtime could write to reads, even if its buffer grows", () => {
    const { buffers, closed, sweep, pass, socket } = connectionsOf();
    sweep({ ann: 2 });
    for (let size = 3; size < 10; size++) {
      pass(750, { ann: size });
      buffers.noteProgress(socket("ann"));
    }
    expect(closed).toEqual([]);
  });

  test("below its buffer is closed after slow-consumer-timeout", () => {
    const { closed, sweep, pass } = connectionsOf();
    sweep({ ann: 1 });
    pass(29_750);
    expect(closed).toEqual([]);
    pass(250);
    expect(closed).toEqual(["ann 4102"]);
  });

  test("is closed at a quarter of the total, long before the runtime drops a message", () => {
    const { buffers, closed, sweep } = connectionsOf();
    sweep({ ann: 16, bob: 16.1 });
    expect(closed).toEqual(["bob 4102"]);
    expect(buffers.runtimeLimitBytes).toBeGreaterThan(16.1 * mebibyte + buffers.turnBytes + 6 * mebibyte);
  });

  test("does not lose time in which the server was suspended", () => {
    const { clock, closed, sweep, pass } = connectionsOf();
    sweep({ ann: 2 });
    clock.advance(60_000);
    sweep({});
    expect(closed).toEqual([]);
    pass(750);
    expect(closed).toEqual(["ann 4102"]);
  });
});

test("over the total the largest are closed", () => {
  const { buffers, closed, sweep } = connectionsOf();
  sweep({ ann: 11, bob: 12, cat: 13, dan: 14, eve: 15 });
  expect(closed).toEqual(["eve 4102"]);
  expect(buffers.bufferedBytes).toBe(50 * mebibyte);
});

describe("a burst", () => {
  const readers = (size: number) => Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, size]));

  test("waits while half of the total is unsent and is read", () => {
    const { buffers, closed, sweep, pass } = connectionsOf();
    sweep(readers(8));
    expect(buffers.mustWait()).toBe(false);
    for (let size = 12; size > 8; size--) {
      pass(750, readers(size));
      expect(buffers.mustWait()).toBe(true);
    }
    pass(250, readers(8));
    expect(buffers.mustWait()).toBe(false);
    expect(closed).toEqual([]);
  });

  test("does not wait for readers that take nearly nothing: the largest are closed after a second", () => {
    const { buffers, closed, sweep, pass } = connectionsOf();
    sweep({ ann: 15, bob: 14, cat: 9 });
    expect(buffers.mustWait()).toBe(true);
    for (let ms = 0; ms < 1_000; ms += 250) {
      pass(250, { ann: 15 - ms / 1e5, bob: 14 - ms / 1e5, cat: 9 - ms / 1e5 });
      buffers.mustWait();
    }
    expect(closed).toEqual(["ann 4102"]);
    expect(buffers.mustWait()).toBe(false);
  });
});
