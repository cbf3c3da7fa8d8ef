import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { BusHandler } from "./bus.ts";
import { RecentIds } from "./recent-ids.ts";

/** Ids by which doubles are seen: more than both brokers can deliver twice after a lost connection. */
const remembered = 100_000;

/** Where the messages of one topic arrive: decoded, without doubles, handed over one turn after the other. */
export class Inbox {
  readonly #handle: BusHandler;
  readonly #onLoss: () => void;
  readonly #log: Log;
  readonly #seen = new RecentIds(remembered);
  /** The turn that is being handled, if it takes its time. */
  #current: Promise<void> | undefined;

  constructor(handle: BusHandler, onLoss: () => void, log: Log) {
    this.#handle = handle;
    this.#onLoss = onLoss;
    this.#log = log;
  }

  /** Done once the handler is: what a broker needs to know before it is told that the messages arrived. */
  take(bodies: unknown[]): void | Promise<void> {
    if (this.#current) return this.#current.then(() => this.take(bodies));
    const messages: unknown[] = [];
    for (const body of bodies) {
      const message = decode(body);
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

function idOf(message: unknown): string | undefined {
  if (typeof message !== "object" || message === null || !("id" in message)) return undefined;
  return typeof message.id === "string" ? message.id : undefined;
}
