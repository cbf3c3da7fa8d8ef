import type { Admin, Consumer, MultipleErrors } from "@platformatic/kafka";
import type { BrokerLog, BrokerRecord } from "../broker-log.ts";

export interface KafkaReaderOptions {
  admin: Admin;
  /** Not shared: a broker answers the requests of one connection in order, and these wait for records. */
  consumer: Consumer;
  log: BrokerLog;
  /** Name of the topic. */
  name: string;
  /** The topic that the last session read: a topic that was deleted and created again has another id. */
  formerId: string | undefined;
  /** Removes the topic; for operators. */
  removal: string;
  signal: AbortSignal;
  /** Called whenever the topic is looked up: ids of the brokers that have a replica, and of all brokers. */
  onReplicas(replicas: readonly number[], brokers: readonly number[]): void;
  onFailure(cause: unknown): void;
}

type Fetched = Awaited<ReturnType<Consumer["fetch"]>>["responses"][number]["partitions"][number];

const maxWaitMs = 1_000;
const maxBytes = 8 * 1024 * 1024;
const earliest = -2n;
const latest = -1n;
const logAppendTime = 0x08;
const controlBatch = 0x20;
const leaderWaitMs = 5_000;
const leaderPollMs = 50;

/** Reads the single partition of one topic from its leader, with one long-polling request at a time. */
export class KafkaReader {
  readonly #options: KafkaReaderOptions;
  #topicId = "";
  #leader = -1;
  /** The next offset. */
  #offset = 0n;

  /** Finds the topic and the offset to start from. */
  static async open(options: KafkaReaderOptions): Promise<KafkaReader> {
    const reader = new KafkaReader(options);
    await untilLeaderExists(() => reader.#refresh(), options.signal);
    reader.#offset = await reader.#startOffset();
    return reader;
  }

  private constructor(options: KafkaReaderOptions) {
    this.#options = options;
  }

  get topicId(): string {
    return this.#topicId;
  }

  start(refreshMs: number): void {
    const { signal, onFailure } = this.#options;
    this.#read().catch(onFailure);
    const timer = setInterval(() => this.#refresh().catch(onFailure), refreshMs);
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  async #refresh(): Promise<void> {
    const { admin, name, removal, onReplicas } = this.#options;
    const metadata = await admin.metadata({ topics: [name], forceUpdate: true });
    const topic = metadata.topics.get(name);
    if (!topic) throw new Error(`the Kafka topic ${name} does not exist`);
    const [partition] = topic.partitions;
    if (!partition || topic.partitions.length > 1)
      throw new Error(
        `the Kafka topic ${name} has ${topic.partitions.length} partitions and must have one: remove it with \`${removal}\`, or set push.queue.prefix to another name`,
      );
    if (this.#topicId !== "" && topic.id !== this.#topicId)
      throw new Error(`the Kafka topic ${name} was deleted and created again`);
    this.#topicId = topic.id;
    this.#leader = partition.leader;
    onReplicas(partition.replicas, [...metadata.brokers.keys()]);
  }

  async #startOffset(): Promise<bigint> {
    const { log, formerId } = this.#options;
    const start = await log.begin();
    const [oldest, end] = [await this.#offsetAt(earliest), await this.#offsetAt(latest)];
    log.noteBounds({ oldest: Number(oldest), latest: Number(end) - 1 });
    const isSameTopic = formerId === undefined || formerId === this.#topicId;
    if ("offset" in start && isSameTopic && start.offset < end)
      return start.offset < oldest ? oldest : BigInt(start.offset);
    if ("offset" in start) {
      log.createdAgain();
      // A topic that lost its last records is not read again from before them.
      if (isSameTopic) return end;
      return this.#startOffset();
    }
    const found = await this.#offsetAt(BigInt(Date.now() - start.ageMs));
    // No record is that young.
    return found < 0n ? end : found;
  }

  async #offsetAt(timestamp: bigint): Promise<bigint> {
    const { admin, name } = this.#options;
    const [listed] = await admin.listOffsets({
      topics: [{ name, partitions: [{ partitionIndex: 0, timestamp }] }],
    });
    return listed?.partitions[0]?.offset ?? 0n;
  }

  /** An error ends the session, also an offset that the broker no longer has: the next session finds another. */
  async #read(): Promise<void> {
    const { signal, log } = this.#options;
    while (!signal.aborted) {
      const fetched = await this.#fetch();
      if (signal.aborted) return;
      if (!fetched) continue;
      log.noteBounds({ oldest: Number(fetched.logStartOffset), latest: Number(fetched.highWatermark) - 1 });
      const { records, next } = recordsFrom(fetched, this.#offset);
      await log.receive(records);
      this.#offset = next;
    }
  }

  async #fetch(): Promise<Fetched | undefined> {
    const partition = {
      partition: 0,
      currentLeaderEpoch: -1,
      fetchOffset: this.#offset,
      lastFetchedEpoch: -1,
      partitionMaxBytes: maxBytes,
    };
    const { responses } = await this.#options.consumer.fetch({
      node: this.#leader,
      maxWaitTime: maxWaitMs,
      minBytes: 1,
      maxBytes,
      topics: [{ topicId: this.#topicId, partitions: [partition] }],
    });
    return responses[0]?.partitions[0];
  }
}

function recordsFrom({ records: batches }: Fetched, from: bigint) {
  const records: BrokerRecord[] = [];
  let next = from;
  for (const batch of batches ?? []) {
    next = batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n;
    // Control records of transactions are not messages.
    if ((batch.attributes & controlBatch) !== 0) continue;
    const isBrokerTime = (batch.attributes & logAppendTime) !== 0;
    for (const { offsetDelta, timestampDelta, value } of batch.records) {
      const offset = batch.firstOffset + BigInt(offsetDelta);
      // A batch is delivered as a whole, even if reading starts in its middle.
      if (offset < from) continue;
      const atMs = Number(isBrokerTime ? batch.maxTimestamp : batch.firstTimestamp + timestampDelta);
      records.push({ offset: Number(offset), body: value ?? "", atMs });
    }
  }
  return { records, next };
}

/** A topic that was just created has no leader for a moment. */
async function untilLeaderExists(attempt: () => Promise<void>, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + leaderWaitMs;
  while (true) {
    try {
      return await attempt();
    } catch (error) {
      const isTemporary = (error as MultipleErrors).findBy?.("hasStaleMetadata", true) != null;
      if (!isTemporary || signal.aborted || Date.now() > deadline) throw error;
      await Bun.sleep(leaderPollMs);
    }
  }
}
