import { messageOf } from "../errors.ts";
import { parseJson } from "../json.ts";
import type { Logger } from "../logger.ts";
import type { BusHandler, Recall } from "./bus.ts";
import { RecentIds } from "./recent-ids.ts";

/** More ids than either broker can deliver twice after a lost connection. */
const rememberedIds = 100_000;

/** A record as the broker delivered it. */
export interface BrokerRecord {
  body: unknown;
  /** The broker's own id of the record, the same for every reader; undefined if there is none. */
  id?: string | undefined;
}

/** Receives the messages of one topic: decodes them, drops duplicates, and handles one batch after the other. */
export class Inbox {
  readonly #handle: BusHandler;
  readonly #onLoss: () => void;
  readonly #recall: Recall | undefined;
  readonly #log: Logger;
  readonly #seen = new RecentIds(rememberedIds);
  /** The batch that is being handled, if its handler is asynchronous. */
  #current: Promise<void> | undefined;

  /** Whether messages from before the start of reading must be recalled. */
  #needsRecall: boolean;

  constructor(handle: BusHandler, onLoss: () => void, recall: Recall | undefined, log: Logger) {
    this.#handle = handle;
    this.#onLoss = onLoss;
    this.#recall = recall;
    this.#needsRecall = recall !== undefined;
    this.#log = log;
  }

  /** The time span to read again before reading continues; null: none. */
  get recallWindowMs(): number | null {
    return this.#needsRecall ? (this.#recall?.windowMs ?? null) : null;
  }

  receiveRecalled(records: BrokerRecord[]): void {
    this.#recall?.handle(records.filter(mayHaveKey).map(messageOfRecord));
  }

  endRecall(): void {
    this.#needsRecall = false;
  }

  /** Returns when the batch is handled and may be acknowledged. */
  receive(records: BrokerRecord[]): void | Promise<void> {
    if (this.#current) return this.#current.then(() => this.receive(records));
    const messages: unknown[] = [];
    for (const record of records) {
      const message = messageOfRecord(record);
      const id = idOfMessage(message);
      if (id === undefined || this.#seen.add(id)) messages.push(message);
    }
    if (messages.length === 0) return;
    try {
      const handling = this.#handle(messages);
      if (!handling) return;
      this.#current = handling.then(
        () => this.#end(),
        (error) => this.#end(error),
      );
      return this.#current;
    } catch (error) {
      this.#end(error);
    }
  }

  reportLoss(): void {
    this.#needsRecall = this.#recall !== undefined;
    this.reportReordered();
  }

  /**
   * For a client that resumes here, another order is a loss. Reported at once, and again after the current batch, whose
   * messages arrived before.
   */
  reportReordered(): void {
    this.#onLoss();
    void this.#current?.then(this.#onLoss);
  }

  #end(error?: unknown): void {
    this.#current = undefined;
    if (error === undefined) return;
    // The batch counts as handled: a repeat would fail in the same way.
    this.#log.error({ error: messageOf(error) }, "messages from the queue could not be handled");
    this.#onLoss();
  }
}

/** A body that is not JSON is passed on as text, and the handler counts it as invalid. */
function decode(body: unknown): unknown {
  const text = Buffer.isBuffer(body) ? body.toString() : body;
  if (typeof text !== "string") return text;
  const value = parseJson(text);
  return value === undefined ? text : value;
}

/** A recall needs only messages with a key; a text search is far cheaper than decoding. */
function mayHaveKey({ body }: BrokerRecord): boolean {
  return !Buffer.isBuffer(body) || body.includes('"idempotencyKey"');
}

/** A message of another service without an id gets the broker's id. */
function messageOfRecord({ body, id }: BrokerRecord): unknown {
  const message = decode(body);
  if (id === undefined || typeof message !== "object" || message === null) return message;
  const hasId = "id" in message && message.id !== null && message.id !== undefined;
  return hasId ? message : { ...message, id };
}

function idOfMessage(message: unknown): string | undefined {
  if (typeof message !== "object" || message === null || !("id" in message)) return undefined;
  return typeof message.id === "string" || typeof message.id === "number" ? String(message.id) : undefined;
}
