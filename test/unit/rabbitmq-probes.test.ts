import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { AMQPError, type AsyncMessage } from "rabbitmq-client";
import type { BrokerLink } from "../../src/bus/broker-bus.ts";
import { type Probe, Probes } from "../../src/bus/rabbitmq/rabbitmq-probes.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Sends probes that return at once, except those with a number in `refused`. */
function startProbes(refused: number[]) {
  const said: string[] = [];
  const sent: number[] = [];
  const end = new AbortController();
  const link = {
    signal: end.signal,
    broken: (cause: unknown) => said.push(`broken: ${cause}`),
    paused: (_reason: string, detail: string) => said.push(detail),
    resumed: (reason: string) => said.push(`resumed ${reason}`),
  } as unknown as BrokerLink;
  const probes: Probes = new Probes({
    prefix: "p",
    async send(_topic, { id, headers }: Probe) {
      sent.push(sent.length + 1);
      if (refused.includes(sent.length)) throw Object.assign(new AMQPError(), { code: "NACK" });
      queueMicrotask(() => probes.receive({ messageId: id, headers } as unknown as AsyncMessage));
    },
    link,
    possibleLosses: new Set(),
  });
  probes.start({ topic: "broadcast", isIdle: async () => true });
  return { said, sent, end };
}

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    jest.advanceTimersByTime(500);
  }
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

test("a first probe that a full queue refuses is named, and the next one is sent", async () => {
  const { said, sent, end } = startProbes([1]);
  await pass(1_000);
  expect(said).toEqual([
    "waiting until RabbitMQ accepts a message for broadcast",
    "a queue bound to p.broadcast refuses messages: empty or remove it",
  ]);
  await pass(5_000);
  expect(sent).toEqual([1, 2]);
  expect(said.slice(2)).toEqual(["resumed first broadcast"]);
  end.abort();
});

test("a later probe that a full queue refuses does not count", async () => {
  const { said, sent, end } = startProbes([2]);
  await pass(16_000);
  expect(sent.length).toBeGreaterThanOrEqual(3);
  expect(new Set(said)).toEqual(
    new Set(["waiting until RabbitMQ accepts a message for broadcast", "resumed first broadcast"]),
  );
  end.abort();
});
