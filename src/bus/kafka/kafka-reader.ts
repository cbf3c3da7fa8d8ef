import type { Admin, Consumer } from "@platformatic/kafka";
import type { RecallRequest } from "../broker-bus.ts";
import type { BrokerRecord } from "../inbox.ts";
import type { ReadPace } from "./kafka-pace.ts";
import { type Fetched, recordsIn } from "./kafka-records.ts";

/** Next offset by topic id and partition. By id, because a topic that was deleted and recreated has a new one. */
type ReadPositions = Map<string, Map<number, bigint>>;

interface Partition {
  partition: number;
  leader: number;
}

export interface KafkaReaderOptions {
  admin: Admin;
  /** Not shared: a broker answers the requests of one connection in order, and these wait for messages. */
  consumer: Consumer;
  name: string;
  positions: ReadPositions;
  pace: ReadPace;
  signal: AbortSignal;
  receive(records: BrokerRecord[]): void | Promise<void>;
  /** Reading does not continue where it stopped: messages may be lost. */
  onLoss(): void;
  /** The next records come in another order than on other instances; none is lost. */
  onReordered(): void;
  onFailure(cause: unknown): void;
}

/** Well below the lag that `ReadPace` allows, so that a leader without messages is not late. */
const maxWaitMs = 250;
const maxBytes = 8 * 1024 * 1024;
const partitionMaxBytes = 1024 * 1024;
const earliest = -2n;
const latest = -1n;

/** Where reading starts: at the end if there is no known offset, else there, within what the broker still has. */
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

  /** Updates partitions and their leaders; a new partition is read from its beginning. */
  async refresh(): Promise<void> {
    const { admin, name } = this.#options;
    const metadata = await admin.metadata({ topics: [name], forceUpdate: true });
    const topic = metadata.topics.get(name);
    if (!topic) throw new Error(`the Kafka topic ${name} does not exist`);
    if (this.#isStarted && topic.id !== this.#topicId)
      throw new Error(`the Kafka topic ${name} was recreated`);
    this.#topicId = topic.id;
    const found = topic.partitions.map(({ leader }, partition) => ({ partition, leader }));
    const known = this.#offsetsOfTopic();
    await this.#setStart(found.filter(({ partition }) => !this.#isStarted || !known.has(partition)));
    this.#partitions = found;
    if (this.#isStarted) this.#startLoops();
  }

  start(refreshMs: number): void {
    const { signal, pace, onFailure } = this.#options;
    this.#isStarted = true;
    pace.begin();
    this.#startLoops();
    const timer = setInterval(() => this.refresh().catch(onFailure), refreshMs);
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  #offsetsOfTopic(): Map<number, bigint> {
    return this.#options.positions.get(this.#topicId) ?? new Map();
  }

  async #setStart(partitions: Partition[]): Promise<void> {
    if (partitions.length === 0) return;
    const { positions, onLoss } = this.#options;
    const [earliestOffsets, latestOffsets] = await Promise.all([
      this.#listOffsets(partitions, earliest),
      this.#listOffsets(partitions, latest),
    ]);
    const isFirstStart = positions.size === 0;
    const isNewTopic = !positions.has(this.#topicId);
    let isContinuous = true;
    const offsets = this.#offsetsOfTopic();
    for (const { partition } of partitions) {
      const bounds = {
        earliest: earliestOffsets.get(partition) ?? 0n,
        latest: latestOffsets.get(partition) ?? 0n,
      };
      const known = offsets.get(partition);
      const offset = startOffset(known, !isFirstStart, bounds);
      // A new partition is read completely unless its first records are already deleted.
      if (isNewTopic || offset !== (known ?? 0n)) isContinuous = false;
      offsets.set(partition, offset);
    }
    positions.set(this.#topicId, offsets);
    if (!isContinuous) onLoss();
  }

  async #listOffsets(partitions: Partition[], timestamp: bigint): Promise<Map<number, bigint>> {
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

  /** Ends when the leader has no partition any more. An error ends the session. */
  async #read(leader: number): Promise<void> {
    const { signal, pace } = this.#options;
    while (!signal.aborted) {
      const led = this.#partitions.filter(({ leader: other }) => other === leader);
      if (led.length === 0) break;
      const offsets = this.#offsetsOfTopic();
      pace.asked(leader);
      const response = await this.#fetch(leader, led, offsets);
      if (signal.aborted) return;
      pace.answered(leader);
      await this.#receive(leader, response, offsets);
    }
    this.#leaders.delete(leader);
  }

  /** The leader is not asked again meanwhile, so that at most one response per leader is in memory. */
  async #receive(leader: number, response: Fetched, offsets: Map<number, bigint>): Promise<void> {
    const { pace, signal, onReordered, receive } = this.#options;
    const { records, next } = recordsIn(response, this.#topicId, offsets);
    if (records.length > 0) {
      const leaders = () => this.#partitions.map((partition) => partition.leader);
      if (!(await pace.becomesLevel(leader, leaders, signal))) return;
      if (pace.takeFallenBehind()) onReordered();
      await receive(records);
    }
    for (const [partition, offset] of next) offsets.set(partition, offset);
  }

  /** Reads again the records of the window before the start position. */
  async recall({ windowMs, take, end }: RecallRequest): Promise<void> {
    const since = BigInt(Date.now() - windowMs);
    const ends = this.#offsetsOfTopic();
    const offsets = new Map<number, bigint>();
    // The broker returns -1 if no record is that new.
    for (const [partition, offset] of await this.#listOffsets(this.#partitions, since))
      if (offset >= 0n && offset < (ends.get(partition) ?? 0n)) offsets.set(partition, offset);
    while (offsets.size > 0) {
      const before = [...offsets.values()].join();
      for (const leader of new Set(this.#partitions.map((partition) => partition.leader)))
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
    take: RecallRequest["take"],
  ): Promise<void> {
    const led = this.#partitions.filter(
      ({ leader: other, partition }) => other === leader && offsets.has(partition),
    );
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
