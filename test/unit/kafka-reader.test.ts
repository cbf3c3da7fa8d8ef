import { afterEach, expect, test } from "bun:test";
import { ReadPace } from "../../src/bus/kafka/kafka-pace.ts";
import { KafkaReader, type KafkaReaderOptions } from "../../src/bus/kafka/kafka-reader.ts";
import { steadyClock } from "../../src/clock.ts";
import { eventually } from "../support/eventually.ts";

let session = new AbortController();
afterEach(() => session.abort());

/** Partition 0 is led by broker 0, partition 1 by broker 1, and so on. */
class FakeBrokers {
  readonly #logs: string[][];
  readonly #stalled = new Set<number>();
  readonly #answers = new Map<number, number>();
  readonly #fetchMs: number;

  /** Each request takes at least `fetchMs`. */
  constructor(count: number, fetchMs = 0) {
    this.#fetchMs = fetchMs;
    this.#logs = Array.from({ length: count }, () => []);
  }

  append(broker: number, text: string): void {
    this.#logs[broker]?.push(text);
  }

  stall(broker: number): void {
    this.#stalled.add(broker);
  }

  resume(broker: number): void {
    this.#stalled.delete(broker);
  }

  answersOf(broker: number): number {
    return this.#answers.get(broker) ?? 0;
  }

  readonly admin = {
    metadata: async () => ({
      topics: new Map([["t", { id: "t", partitions: this.#logs.map((_, leader) => ({ leader })) }]]),
    }),
    listOffsets: async ({ topics: [topic] }: ListRequest) => [
      {
        partitions: topic?.partitions.map(({ partitionIndex, timestamp }) => ({
          partitionIndex,
          offset: timestamp === earliest ? 0n : BigInt(this.#logs[partitionIndex]?.length ?? 0),
        })),
      },
    ],
  } as unknown as KafkaReaderOptions["admin"];

  readonly consumer = {
    fetch: async ({ node, maxWaitTime, topics }: FetchRequest) => {
      const from = Number(topics[0]?.partitions[0]?.fetchOffset);
      const log = this.#logs[node] ?? [];
      await Bun.sleep(this.#fetchMs);
      const untilMs = performance.now() + maxWaitTime;
      while (this.#stalled.has(node) || (log.length <= from && performance.now() < untilMs))
        await Bun.sleep(5);
      this.#answers.set(node, this.answersOf(node) + 1);
      const records = log
        .slice(from)
        .map((value, offsetDelta) => ({ offsetDelta, timestampDelta: 0n, value }));
      const batch = {
        firstOffset: BigInt(from),
        lastOffsetDelta: records.length - 1,
        attributes: 0,
        firstTimestamp: 0n,
        records,
      };
      const partition = { partitionIndex: node, records: records.length === 0 ? [] : [batch] };
      return { responses: [{ partitions: [partition] }] };
    },
  } as unknown as KafkaReaderOptions["consumer"];
}

const earliest = -2n;

interface ListRequest {
  topics: { partitions: { partitionIndex: number; timestamp: bigint }[] }[];
}

interface FetchRequest {
  node: number;
  maxWaitTime: number;
  topics: { partitions: { fetchOffset: bigint }[] }[];
}

function topic(brokers: FakeBrokers, handle: (texts: unknown[]) => void | Promise<void> = () => {}) {
  const received: unknown[] = [];
  const progress = { positions: new Map(), pace: new ReadPace(steadyClock) };
  return {
    received,
    async open() {
      session.abort();
      session = new AbortController();
      const { signal } = session;
      const reader = new KafkaReader({
        ...progress,
        admin: brokers.admin,
        consumer: brokers.consumer,
        name: "t",
        signal,
        receive(records) {
          const texts = records.map(({ body }) => body);
          received.push(...texts);
          return handle(texts);
        },
        onLoss: () => received.push("loss"),
        onReordered: () => received.push("reordered"),
        onFailure(cause) {
          throw cause;
        },
      });
      await reader.refresh();
      reader.start(60_000);
      received.splice(0, received.length);
    },
  };
}

test("messages of one leader are not delivered seconds ahead of those of another", async () => {
  const brokers = new FakeBrokers(3);
  const { received, open } = topic(brokers);
  await open();
  brokers.append(1, "first");
  await eventually("a message arrives", () => received.length === 1);
  brokers.stall(0);
  brokers.append(0, "x");
  await Bun.sleep(1_500);
  brokers.append(1, "y");
  await Bun.sleep(600);
  expect(received).toEqual(["first"]);
  brokers.resume(0);
  await eventually("both arrive", () => received.length === 4);
  // Earlier messages were delivered long before x, on other instances after it.
  expect(received.slice(0, 2)).toEqual(["first", "reordered"]);
  expect(received.slice(2).sort()).toEqual(["x", "y"]);
});

test("after a session that ended while one leader was behind, the next reports another order", async () => {
  const brokers = new FakeBrokers(2);
  const { received, open } = topic(brokers);
  await open();
  brokers.append(1, "first");
  await eventually("a message arrives", () => received.length === 1);
  brokers.stall(0);
  const answers = brokers.answersOf(1);
  await eventually("the other leader answers for a while", () => brokers.answersOf(1) > answers + 5);
  await open();
  brokers.append(0, "x");
  brokers.append(1, "y");
  await Bun.sleep(300);
  expect(received).toEqual([]);
  brokers.resume(0);
  await eventually("both arrive", () => received.length === 3);
  expect(received[0]).toBe("reordered");
});

test("leaders without messages delay no other, and an outage of all leaders is no loss", async () => {
  const brokers = new FakeBrokers(3);
  const { received, open } = topic(brokers);
  await open();
  brokers.append(0, "first");
  await eventually("a message arrives", () => received.length === 1);
  for (const broker of [0, 1, 2]) brokers.stall(broker);
  await Bun.sleep(1_500);
  brokers.append(1, "second");
  session.abort();
  for (const broker of [0, 1, 2]) brokers.resume(broker);
  await open();
  await eventually("a message arrives after the outage", () => received.length > 0);
  await Bun.sleep(1_000);
  brokers.append(2, "third");
  await eventually("a message arrives", () => received.includes("third"));
  expect(received).toEqual(["second", "third"]);
});

test("slow handling leaves no leader behind, and what waits for its end is fetched once", async () => {
  const brokers = new FakeBrokers(2);
  const { received, open } = topic(brokers, (texts) =>
    texts.includes("slow") ? Bun.sleep(2_500) : undefined,
  );
  await open();
  brokers.append(1, "slow");
  await eventually("its handling begins", () => received.length === 1);
  await Bun.sleep(1_200);
  const answers = brokers.answersOf(0);
  brokers.append(0, "waits");
  brokers.append(1, "next");
  await eventually("both arrive", () => received.includes("waits") && received.includes("next"));
  expect(received[0]).toBe("slow");
  expect(received).not.toContain("reordered");
  expect(brokers.answersOf(0) - answers).toBeLessThanOrEqual(3);
});

test("a leader that does not answer after slow handling is behind", async () => {
  const brokers = new FakeBrokers(2);
  const { received, open } = topic(brokers, (texts) =>
    texts.includes("slow") ? Bun.sleep(1_500) : undefined,
  );
  await open();
  brokers.append(1, "slow");
  await eventually("its handling begins", () => received.length === 1);
  brokers.stall(1);
  await Bun.sleep(1_000);
  brokers.append(0, "y");
  await Bun.sleep(2_000);
  expect(received).toEqual(["slow"]);
  await open();
  brokers.append(1, "x");
  brokers.resume(1);
  await eventually("both arrive", () => received.length >= 3);
  expect(received[0]).toBe("reordered");
  expect(received.slice(1).sort()).toEqual(["x", "y"]);
});

test("over slow links, records are not fetched again and again", async () => {
  const brokers = new FakeBrokers(2, 1_500);
  const { received, open } = topic(brokers);
  brokers.stall(1);
  await open();
  for (const broker of [0, 1]) brokers.append(broker, `first of ${broker}`);
  await Bun.sleep(2_500);
  brokers.resume(1);
  await eventually(
    "the first arrive",
    () => received.filter((text) => text !== "reordered").length === 2,
    10_000,
  );
  for (const broker of [0, 1]) brokers.append(broker, `second of ${broker}`);
  await eventually("all arrive", () => received.filter((text) => text !== "reordered").length === 4, 10_000);
  for (const broker of [0, 1]) expect(brokers.answersOf(broker)).toBeLessThanOrEqual(6);
});

test("a process that was suspended leaves no leader behind; a leader that stays away longer than the others is behind", () => {
  let nowMs = 0;
  const pace = new ReadPace({ ...steadyClock, elapsed: () => nowMs });
  for (const leader of [0, 1]) pace.asked(leader);
  const answerAt = (atMs: number, leader: number) => {
    nowMs = atMs;
    pace.answered(leader);
    pace.asked(leader);
  };
  for (const leader of [0, 1]) answerAt(100, leader);
  answerAt(3_000, 0);
  answerAt(3_010, 1);
  expect(pace.takeFallenBehind()).toBe(false);
  for (const atMs of [3_250, 3_500, 3_750, 4_000]) answerAt(atMs, 0);
  answerAt(4_010, 1);
  expect(pace.takeFallenBehind()).toBe(true);
});
