import type { Consumer } from "@platformatic/kafka";
import type { BrokerRecord } from "../inbox.ts";

export type Fetched = Awaited<ReturnType<Consumer["fetch"]>>;

const controlBatch = 0x20;

/** The records of a response from `offsets` up to `ends`, each with topic, partition and offset as its id. */
export function recordsIn(
  { responses }: Fetched,
  topicId: string,
  offsets: ReadonlyMap<number, bigint>,
  ends?: ReadonlyMap<number, bigint>,
) {
  const records: BrokerRecord[] = [];
  /** By partition: the offset after the last fetched record. */
  const next = new Map<number, bigint>();
  for (const { partitionIndex, records: batches } of responses.flatMap(({ partitions }) => partitions)) {
    const from = offsets.get(partitionIndex) ?? 0n;
    const end = ends?.get(partitionIndex);
    for (const batch of batches ?? []) {
      next.set(partitionIndex, batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n);
      // Control records of transactions are not messages.
      if ((batch.attributes & controlBatch) !== 0) continue;
      for (const { offsetDelta, value } of batch.records) {
        const offset = batch.firstOffset + BigInt(offsetDelta);
        // A batch is delivered as a whole, even if reading starts in its middle.
        if (offset < from || (end !== undefined && offset >= end)) continue;
        records.push({ body: value ?? "", id: `${topicId}.${partitionIndex}.${offset}` });
      }
    }
  }
  return { records, next };
}
