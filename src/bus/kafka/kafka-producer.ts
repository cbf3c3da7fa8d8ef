import type { MultipleErrors } from "@platformatic/kafka";
import { Fault } from "../../errors.ts";

export interface KafkaRecord {
  topic: string;
  key: string;
  value: string;
}

export interface KafkaProducerOptions {
  /** Resolves once the brokers have confirmed all of them. */
  send(records: KafkaRecord[]): Promise<void>;
  /** The brokers cannot be reached as we know them, or do not let us write. */
  onFailure(cause: unknown): void;
}

interface Waiting {
  record: KafkaRecord;
  resolve(): void;
  reject(cause: unknown): void;
}

/** Half of what a broker takes by default, so that a batch is never too large where each of its messages is not. */
const maxBatchBytes = 512 * 1024;
const maxBatchCount = 1_000;

/**
 * One request at a time, as an idempotent producer needs for its order; what arrives meanwhile travels together in
 * the next one. So an idle system waits for nothing, and a busy one batches by itself.
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
    // What is published in the same turn belongs into the same request.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#sendBatch(this.#nextBatch());
    this.#isSending = false;
  }

  async #sendBatch(batch: Waiting[]): Promise<void> {
    try {
      await this.#options.send(batch.map(({ record }) => record));
      for (const { resolve } of batch) resolve();
    } catch (cause) {
      if (!isTooLarge(cause)) return this.#fail(batch, cause);
      // Too large together need not be too large alone. What was written already is dropped by its id.
      if (batch.length > 1) for (const one of batch) await this.#sendBatch([one]);
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

  #fail(batch: Waiting[], cause: unknown): void {
    for (const { reject } of batch) reject(cause);
    this.#options.onFailure(cause);
  }
}

function isTooLarge(cause: unknown): boolean {
  return ["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"].some(
    (apiId) => (cause as MultipleErrors).findBy?.("apiId", apiId) != null,
  );
}

function tooLarge(): Fault {
  return new Fault(
    "too_large",
    "The message is larger than the Kafka topic takes: raise its max.message.bytes.",
  );
}
