import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { BusHandler, Recall } from "./bus.ts";
import { RecentIds } from "./recent-ids.ts";

/** Ids for detecting duplicates: more than either broker can deliver twice after a lost connection. */
const remembered = 100_000;

/** One record as the broker delivered it. */
export interface BrokerRecord {
  body: unknown;
  /** The broker's own id of the record, the same for every reader; undefined if there is none. */
  id?: string | undefined;
}

/** Receives the messages of one topic: decodes them, drops duplicates, and hands over one batch after the other. */
export class Inbox {
  readonly #handle: BusHandler;
  readonly #onLoss: () => void;
  readonly #recall: Recall | undefined;
  readonly #log: Log;
  readonly #seen = new RecentIds(remembered);
  /** The turn that is being handled, if it takes its time. */
  #current: Promise<void> | undefined;

  /** Whether messages from before the start of reading must be recalled. */
  #needsRecall: boolean;

  constructor(handle: BusHandler, onLoss: () => void, recall: Recall | undefined, log: Log) {
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

  recalled(records: BrokerRecord[]): void {
    this.#recall?.handle(records.filter(mayHaveKey).map(messageIn));
  }

  endRecall(): void {
    this.#needsRecall = false;
  }

  /** Done once the handler is: what a broker needs to know before it is told that the messages arrived. */
  take(records: BrokerRecord[]): void | Promise<void> {
    if (this.#current) return this.#current.then(() => this.take(records));
    const messages: unknown[] = [];
    for (const record of records) {
      const message = messageIn(record);
      const id = idOf(message);
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

  /** Told at once, and again when what arrived before the loss and is still being handled is done. */
  lost(): void {
    this.#needsRecall = this.#recall !== undefined;
    this.#onLoss();
    void this.#current?.then(this.#onLoss);
  }

  #end(error?: unknown): void {
    this.#current = undefined;
    if (error === undefined) return;
    // A handler that fails would be given the same messages for ever: they count as handed over.
    this.#log.error({ error: messageOf(error) }, "messages of the queue failed");
    this.#onLoss();
  }
}

/** Other services write to the queue too: what is not JSON is handed over as its text, to be counted as poison. */
function decode(body: unknown): unknown {
  const text = Buffer.isBuffer(body) ? body.toString() : body;
  if (typeof text !== "string") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A recall needs only messages with a key; a text search is far cheaper than decoding. */
function mayHaveKey({ body }: BrokerRecord): boolean {
  return !Buffer.isBuffer(body) || body.includes('"idempotencyKey"');
}

/** A message of another service without an id gets the broker's id. */
function messageIn({ body, id }: BrokerRecord): unknown {
  const message = decode(body);
  if (id === undefined || typeof message !== "object" || message === null) return message;
  const hasId = "id" in message && message.id !== null && message.id !== undefined;
  return hasId ? message : { ...message, id };
}

function idOf(message: unknown): string | undefined {
  if (typeof message !== "object" || message === null || !("id" in message)) return undefined;
  return typeof message.id === "string" || typeof message.id === "number" ? String(message.id) : undefined;
}
