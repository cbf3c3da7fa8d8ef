import type { Admin, Consumer } from "@platformatic/kafka";
import type { RecallOrder } from "../broker-bus.ts";
import type { BrokerRecord } from "../inbox.ts";
import { type Fetched, recordsIn } from "./kafka-records.ts";

/** Next offset by topic id and partition. The id, because a topic that was deleted and made again starts anew. */
export type ReadPositions = Map<string, Map<number, bigint>>;

interface Partition {
  partition: number;
  leader: number;
}

export interface KafkaReaderOptions {
  admin: Admin;
  /** Of its own: a broker answers the requests of one connection in turn, and ours wait for messages. */
  consumer: Consumer;
  name: string;
  positions: ReadPositions;
  signal: AbortSignal;
  receive(records: BrokerRecord[]): void | Promise<void>;
  /** Reading does not go on where it was: what lies between is unknown. */
  onLoss(): void;
  onFailure(cause: unknown): void;
}

const maxWaitMs = 1_000;
const maxBytes = 8 * 1024 * 1024;
const partitionMaxBytes = 1024 * 1024;
const earliest = -2n;
const latest = -1n;

/** Where reading starts: at the end when nothing is known yet, else where it was, as far as the broker still has it. */
export function startOffset(
  known: bigint | undefined,
  isNewPartition: boolean,
  bounds: { earliest: bigint; latest: bigint },
): bigint {
  if (known === undefined) return isNewPartition ? bounds.earliest : bounds.latest;
  if (known < bounds.earliest) return bounds.earliest;
  return known > bounds.latest ? bounds.latest : known;
}

/** Reads every partition of one topic, with one long-polling request per leader. */
export class KafkaReader {
  readonly #options: KafkaReaderOptions;
  readonly #leaders = new Set<number>();
  #topicId = "";
  #partitions: Partition[] = [];
  #isStarted = false;

  constructor(options: KafkaReaderOptions) {
    this.#options = options;
  }

  /** Learns which partitions there are and who leads them; new ones are read from where they begin. */
  async follow(): Promise<void> {
    const { admin, name } = this.#options;
    const metadata = await admin.metadata({ topics: [name], forceUpdate: true });
    const topic = metadata.topics.get(name);
    if (!topic) throw new Error(`the Kafka topic ${name} does not exist`);
    if (this.#isStarted && topic.id !== this.#topicId)
      throw new Error(`the Kafka topic ${name} was made anew`);
    this.#topicId = topic.id;
    const found = topic.partitions.map(({ leader }, partition) => ({ partition, leader }));
    const known = this.#offsetsOfTopic();
    await this.#position(found.filter(({ partition }) => !this.#isStarted || !known.has(partition)));
    this.#partitions = found;
    if (this.#isStarted) this.#startLoops();
  }

  start(refreshMs: number): void {
    const { signal, onFailure } = this.#options;
    this.#isStarted = true;
    this.#startLoops();
    const refresh = setInterval(() => this.follow().catch(onFailure), refreshMs);
    signal.addEventListener("abort", () => clearInterval(refresh), { once: true });
  }

  #offsetsOfTopic(): Map<number, bigint> {
    return this.#options.positions.get(this.#topicId) ?? new Map();
  }

  async #position(partitions: Partition[]): Promise<void> {
    if (partitions.length === 0) return;
    const { positions, onLoss } = this.#options;
    const [earliestOffsets, latestOffsets] = await Promise.all([
      this.#list(partitions, earliest),
      this.#list(partitions, latest),
    ]);
    const isFirstStart = positions.size === 0;
    const isNewTopic = !positions.has(this.#topicId);
    let goesOn = true;
    const offsets = this.#offsetsOfTopic();
    for (const { partition } of partitions) {
      const bounds = {
        earliest: earliestOffsets.get(partition) ?? 0n,
        latest: latestOffsets.get(partition) ?? 0n,
      };
      const known = offsets.get(partition);
      const offset = startOffset(known, !isFirstStart, bounds);
      // A partition that was added is read whole unless its beginning is gone already.
      if (isNewTopic || offset !== (known ?? 0n)) goesOn = false;
      offsets.set(partition, offset);
    }
    positions.set(this.#topicId, offsets);
    if (!goesOn) onLoss();
  }

  async #list(partitions: Partition[], timestamp: bigint): Promise<Map<number, bigint>> {
    const { admin, name } = this.#options;
    const request = partitions.map(({ partition }) => ({ partitionIndex: partition, timestamp }));
    const [listed] = await admin.listOffsets({ topics: [{ name, partitions: request }] });
    return new Map(listed?.partitions.map(({ partitionIndex, offset }) => [partitionIndex, offset]));
  }

  #startLoops(): void {
    for (const { leader } of this.#partitions) {
      if (this.#leaders.has(leader)) continue;
      this.#leaders.add(leader);
      this.#read(leader).catch((cause) => this.#options.onFailure(cause));
    }
  }

  /** Ends when the leader leads nothing any more, or by an error, which ends the session. */
  async #read(leader: number): Promise<void> {
    const { signal } = this.#options;
    while (!signal.aborted) {
      const led = this.#partitions.filter((one) => one.leader === leader);
      if (led.length === 0) break;
      const offsets = this.#offsetsOfTopic();
      const response = await this.#fetch(leader, led, offsets);
      if (signal.aborted) return;
      await this.#take(response, offsets);
    }
    this.#leaders.delete(leader);
  }

  async #take(response: Fetched, offsets: Map<number, bigint>): Promise<void> {
    const { records, next } = recordsIn(response, this.#topicId, offsets);
    if (records.length > 0) await this.#options.receive(records);
    for (const [partition, offset] of next) offsets.set(partition, offset);
  }

  /** Reads again the records of the window before the start position. */
  async recall({ windowMs, take, end }: RecallOrder): Promise<void> {
    const since = BigInt(Date.now() - windowMs);
    const ends = this.#offsetsOfTopic();
    const offsets = new Map<number, bigint>();
    // The broker answers -1 if no record is that new.
    for (const [partition, offset] of await this.#list(this.#partitions, since))
      if (offset >= 0n && offset < (ends.get(partition) ?? 0n)) offsets.set(partition, offset);
    while (offsets.size > 0) {
      const before = [...offsets.values()].join();
      for (const leader of new Set(this.#partitions.map((one) => one.leader)))
        await this.#recallFrom(leader, offsets, ends, take);
      // Records deleted meanwhile do not arrive.
      if ([...offsets.values()].join() === before) break;
    }
    end();
  }

  async #recallFrom(
    leader: number,
    offsets: Map<number, bigint>,
    ends: ReadonlyMap<number, bigint>,
    take: RecallOrder["take"],
  ): Promise<void> {
    const led = this.#partitions.filter((one) => one.leader === leader && offsets.has(one.partition));
    if (led.length === 0) return;
    const { records, next } = recordsIn(
      await this.#fetch(leader, led, offsets),
      this.#topicId,
      offsets,
      ends,
    );
    take(records);
    for (const [partition, offset] of next) {
      if (offset < (ends.get(partition) ?? 0n)) offsets.set(partition, offset);
      else offsets.delete(partition);
    }
  }

  #fetch(node: number, led: Partition[], offsets: ReadonlyMap<number, bigint>): Promise<Fetched> {
    const partitions = led.map(({ partition }) => ({
      partition,
      currentLeaderEpoch: -1,
      fetchOffset: offsets.get(partition) ?? 0n,
      lastFetchedEpoch: -1,
      partitionMaxBytes,
    }));
    const topics = [{ topicId: this.#topicId, partitions }];
    return this.#options.consumer.fetch({ node, maxWaitTime: maxWaitMs, minBytes: 1, maxBytes, topics });
  }
}
