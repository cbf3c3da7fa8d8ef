import type { Consumer } from "@platformatic/kafka";
import type { BrokerRecord } from "../inbox.ts";

export type Fetched = Awaited<ReturnType<Consumer["fetch"]>>;

const logAppendTime = 0x08;
const controlBatch = 0x20;

interface TimedRecord extends BrokerRecord {
  atMs: number;
}

/**
 * The records of a response from `offsets` up to `ends`, each with topic, partition and offset as its id. They are in the
 * order of their times: after an outage a response has records of many seconds, and partition by partition a client would
 * get the newest of one before the oldest of the next.
 */
export function recordsIn(
  { responses }: Fetched,
  topicId: string,
  offsets: ReadonlyMap<number, bigint>,
  ends?: ReadonlyMap<number, bigint>,
) {
  const partitions: TimedRecord[][] = [];
  /** By partition: the offset after the last fetched record. */
  const next = new Map<number, bigint>();
  for (const { partitionIndex, records: batches } of responses.flatMap((response) => response.partitions)) {
    const from = offsets.get(partitionIndex) ?? 0n;
    const end = ends?.get(partitionIndex);
    const records: TimedRecord[] = [];
    for (const batch of batches ?? []) {
      next.set(partitionIndex, batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n);
      // Control records of transactions are not messages.
      if ((batch.attributes & controlBatch) !== 0) continue;
      const isBrokerTime = (batch.attributes & logAppendTime) !== 0;
      for (const { offsetDelta, timestampDelta, value } of batch.records) {
        const offset = batch.firstOffset + BigInt(offsetDelta);
        // A batch is delivered as a whole, even if reading starts in its middle.
        if (offset < from || (end !== undefined && offset >= end)) continue;
        const atMs = Number(isBrokerTime ? batch.maxTimestamp : batch.firstTimestamp + timestampDelta);
        records.push({ body: value ?? "", id: `${topicId}.${partitionIndex}.${offset}`, atMs });
      }
    }
    if (records.length > 0) partitions.push(records);
  }
  return { records: inOrderOfTime(partitions), next };
}

/** Merges by the first remaining record of each partition, so that the order within a partition is kept. */
function inOrderOfTime(partitions: TimedRecord[][]): BrokerRecord[] {
  const merged: BrokerRecord[] = [];
  const cursors = partitions.map((records) => ({ records, at: 0 }));
  while (true) {
    let oldest: TimedRecord | undefined;
    let source: (typeof cursors)[number] | undefined;
    for (const cursor of cursors) {
      const head = cursor.records[cursor.at];
      if (!head || (oldest && oldest.atMs <= head.atMs)) continue;
      oldest = head;
      source = cursor;
    }
    if (!oldest || !source) return merged;
    merged.push(oldest);
    source.at++;
  }
}
