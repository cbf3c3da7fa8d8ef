import { expect, test } from "bun:test";
import { type Fetched, recordsIn } from "../../src/bus/kafka/kafka-records.ts";

const logAppendTime = 0x08;

interface Batch {
  first: number;
  times: number[];
  attributes?: number;
  /** The time of the broker; else that of the last record. */
  maxTime?: number;
}

/** One entry per partition. A record is named by its partition and offset. */
function fetched(partitions: Batch[][]): Fetched {
  return {
    responses: [
      {
        partitions: partitions.map((batches, partitionIndex) => ({
          partitionIndex,
          records: batches.map(({ first, times, attributes = 0, maxTime = times.at(-1) ?? 0 }) => ({
            firstOffset: BigInt(first),
            lastOffsetDelta: times.length - 1,
            attributes,
            firstTimestamp: BigInt(times[0] ?? 0),
            maxTimestamp: BigInt(maxTime),
            records: times.map((time, offsetDelta) => ({
              offsetDelta,
              timestampDelta: BigInt(time - (times[0] ?? 0)),
              value: `${partitionIndex}.${first + offsetDelta}`,
            })),
          })),
        })),
      },
    ],
  } as unknown as Fetched;
}

function read(partitions: Batch[][]) {
  const { records, next } = recordsIn(fetched(partitions), "t", new Map());
  return { texts: records.map(({ body }) => body), next };
}

test("records of several partitions are in the order of their times", () => {
  const { texts, next } = read([
    [
      { first: 0, times: [10, 40] },
      { first: 2, times: [50] },
    ],
    [{ first: 0, times: [20, 30, 60] }],
  ]);
  expect(texts).toEqual(["0.0", "1.0", "1.1", "0.1", "0.2", "1.2"]);
  expect([...next]).toEqual([
    [0, 3n],
    [1, 3n],
  ]);
});

test("the order within a partition does not depend on times, which may go back", () => {
  const { texts } = read([[{ first: 0, times: [30, 10, 40] }], [{ first: 0, times: [20] }]]);
  expect(texts).toEqual(["1.0", "0.0", "0.1", "0.2"]);
});

test("if the broker sets the time of a batch, that time counts", () => {
  const { texts } = read([
    [{ first: 0, times: [10, 10], attributes: logAppendTime, maxTime: 40 }],
    [{ first: 0, times: [20] }],
  ]);
  expect(texts).toEqual(["1.0", "0.0", "0.1"]);
});
