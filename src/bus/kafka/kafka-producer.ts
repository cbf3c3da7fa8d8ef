import type { MultipleErrors } from "@platformatic/kafka";
import { Fault } from "../../errors.ts";

export interface KafkaRecord {
  topic: string;
  key: string;
  value: string;
}

export interface KafkaProducerOptions {
  /** Resolves once the brokers have confirmed all records. */
  send(records: KafkaRecord[]): Promise<void>;
  /** The brokers cannot be reached, or refuse the records. */
  onFailure(cause: unknown): void;
}

interface Waiting {
  record: KafkaRecord;
  resolve(): void;
  reject(cause: unknown): void;
}

/** Half of the default limit of a broker, so that a batch of small messages is never too large. */
const maxBatchBytes = 512 * 1024;
const maxBatchCount = 1_000;

/**
 * Sends one request at a time, as the order of an idempotent producer requires. Records that arrive meanwhile form the
 * next batch, so that an idle system does not wait and a busy one uses large batches.
 */
export class KafkaProducer {
  readonly #options: KafkaProducerOptions;
  #waiting: Waiting[] = [];
  #isSending = false;

  constructor(options: KafkaProducerOptions) {
    this.#options = options;
  }

  send(record: KafkaRecord): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ record, resolve, reject });
      if (!this.#isSending) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#isSending = true;
    // Records of the same turn of the event loop belong to the same request.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#sendBatch(this.#nextBatch());
    this.#isSending = false;
  }

  async #sendBatch(batch: Waiting[]): Promise<void> {
    try {
      await this.#options.send(batch.map(({ record }) => record));
      for (const { resolve } of batch) resolve();
    } catch (cause) {
      if (!hasError(cause, tooLargeErrors)) return this.#fail(batch, cause);
      // Each record alone may be small enough. Records that were written already are stored twice; readers know them by their id.
      if (batch.length > 1) for (const waiting of batch) await this.#sendBatch([waiting]);
      else batch[0]?.reject(tooLarge());
    }
  }

  #nextBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { record } of this.#waiting) {
      bytes += record.value.length;
      if (count > 0 && (bytes > maxBatchBytes || count >= maxBatchCount)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  #fail(batch: Waiting[], failure: unknown): void {
    const cause = hasError(failure, tooFewReplicas) ? new TooFewReplicas(batch, failure) : failure;
    for (const { reject } of batch) reject(cause);
    this.#options.onFailure(cause);
  }
}

const tooLargeErrors = ["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"];
const tooFewReplicas = ["NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"];

/** The leader is reachable and takes no records, because too few brokers have a current copy. */
export class TooFewReplicas extends Error {
  constructor(batch: readonly Waiting[], cause: unknown) {
    const topics = [...new Set(batch.map(({ record }) => record.topic))].join(", ");
    super(
      `Kafka accepts no messages: ${topics} has fewer in-sync replicas than its min.insync.replicas; start the missing brokers`,
      { cause },
    );
  }
}

function hasError(cause: unknown, apiIds: readonly string[]): boolean {
  return apiIds.some((apiId) => (cause as MultipleErrors).findBy?.("apiId", apiId) != null);
}

function tooLarge(): Fault {
  return new Fault(
    "too_large",
    "The message is larger than the Kafka topic accepts: raise its max.message.bytes.",
  );
}
