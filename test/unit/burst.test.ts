import { expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import type { Socket } from "../../src/push/connection/connection.ts";
import type { Connections } from "../../src/push/connection/connections.ts";
import { CatchUp } from "../../src/push/fanout/catch-up.ts";
import { Hub } from "../../src/push/fanout/hub.ts";
import { ResumeRing } from "../../src/push/fanout/resume-ring.ts";
import { SendBuffers } from "../../src/push/fanout/send-buffer.ts";
import type { Fanout } from "../../src/push/fanout/topics.ts";
import { newPushCounters } from "../../src/push/message/counters.ts";
import { type PushedMessage, readBroadcast } from "../../src/push/message/message.ts";
import type { MessageTrace } from "../../src/push/trace/message-trace.ts";

const mebibyte = 1024 * 1024;
const totalBytes = 64 * mebibyte;

/** A hub whose connections all get every message, and read what is unsent for them in the given number of turns. */
function hubOf(connections: number, turnsToRead: number) {
  const clock = manualClock();
  const trace = { distributed() {}, sent() {} } as unknown as MessageTrace;
  const sendBuffers = new SendBuffers(
    {
      compresses: false,
      maxMessageBytes: mebibyte,
      sendBufferBytes: mebibyte,
      sendBufferTotalBytes: totalBytes,
      slowConsumerTimeoutMs: 30_000,
    },
    clock,
  );
  const closed = new Set<Socket>();
  const state = { unsentOfOne: 0, largestOfAll: 0, closed };
  const sockets = Array.from({ length: connections }, () => {
    const socket = {
      getBufferedAmount: () => state.unsentOfOne,
      close: () => closed.add(socket),
    } as unknown as Socket;
    return socket;
  });
  const ring = new ResumeRing({ maxBytes: mebibyte, maxAgeMs: 1_000 });
  const topics: Fanout = {
    subscriberCount: () => connections,
    publish(_, text) {
      state.unsentOfOne += text.length;
      state.largestOfAll = Math.max(state.largestOfAll, state.unsentOfOne * connections);
      return text.length;
    },
  };
  const hub = new Hub({
    topics,
    catchUp: new CatchUp({ ring, sendBuffers, trace }),
    connections: { v1: 0, all: () => sockets.values() } as unknown as Connections,
    ring,
    sendBuffers,
    counters: newPushCounters(),
    trace,
    clock,
  });
  /** Readers take a part of what is unsent, as long as the burst lasts. */
  const deliver = async (messages: PushedMessage[]) => {
    const partBytes = Math.ceil(mebibyte / turnsToRead);
    const reading = setInterval(() => {
      clock.advance(10);
      state.unsentOfOne = Math.max(0, state.unsentOfOne - partBytes);
    }, 1);
    await hub.deliver(messages);
    clearInterval(reading);
  };
  return { deliver, state };
}

function messagesOf(count: number, bytes: number): PushedMessage[] {
  const rules = { maxMessageBytes: mebibyte, reservesConsoleNames: false, clock: manualClock() };
  return Array.from({ length: count }, (_, offset) => {
    const value = { targetType: "all", target: "", data: "x".repeat(bytes) };
    const record = { offset, id: `m${offset}`, ageMs: 0, value, isRepeat: false };
    return readBroadcast(record, rules) as PushedMessage;
  });
}

test.each([
  [1_000, 2_000, 1_000],
  [200, 500, 100_000],
  [30, 20, mebibyte],
])(
  "a burst to %p connections of %p messages with %p bytes leaves at most the total and one message each unsent",
  async (connections, count, bytes) => {
    const { deliver, state } = hubOf(connections, 8);
    await deliver(messagesOf(count, bytes));
    expect(state.largestOfAll).toBeGreaterThan(totalBytes / 4);
    expect(state.largestOfAll).toBeLessThanOrEqual(totalBytes + connections * bytes);
    expect(state.closed.size).toBe(0);
  },
);
