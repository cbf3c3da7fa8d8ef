import type { Consumer } from "@platformatic/kafka";
import type { BrokerRecord } from "./inbox.ts";

export type Fetched = Awaited<ReturnType<Consumer["fetch"]>>;

export interface ReadRecords {
  records: BrokerRecord[];
  /** By partition: the offset after the last record of what was fetched. */
  next: Map<number, bigint>;
}

const controlBatch = 0x20;

/** The records of an answer, from `offsets` on and before `ends`, each with its place in the topic as its identity. */
export function recordsIn(
  { responses }: Fetched,
  topicId: string,
  offsets: ReadonlyMap<number, bigint>,
  ends?: ReadonlyMap<number, bigint>,
): ReadRecords {
  const records: BrokerRecord[] = [];
  const next = new Map<number, bigint>();
  for (const { partitionIndex, records: batches } of responses.flatMap(({ partitions }) => partitions)) {
    const from = offsets.get(partitionIndex) ?? 0n;
    const end = ends?.get(partitionIndex);
    for (const batch of batches ?? []) {
      next.set(partitionIndex, batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n);
      // What a transaction of another service writes for the broker itself is no message.
      if ((batch.attributes & controlBatch) !== 0) continue;
      for (const { offsetDelta, value } of batch.records) {
        const offset = batch.firstOffset + BigInt(offsetDelta);
        // A batch is delivered whole, also when reading starts in its middle.
        if (offset < from || (end !== undefined && offset >= end)) continue;
        records.push({ body: value ?? "", id: `${topicId}.${partitionIndex}.${offset}` });
      }
    }
  }
  return { records, next };
}
