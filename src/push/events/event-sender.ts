import type { Clock } from "../../clock.ts";
import type { Logger } from "../../logger.ts";
import { webhookHeaders } from "../../standard-webhooks.ts";
import type { ClientMessageEvent, PresenceEvent } from "../message/outgoing-event.ts";

export interface EventSenderOptions {
  uri: string;
  /** Null: requests have no signature. */
  secret: string | null;
  /** What this sender sends, for operators. */
  kind: "presence" | "message";
  fetch: (url: string, init: BunFetchRequestInit) => Promise<Response>;
  /** The system clock: receivers compare the time of a request with their own. */
  clock: Clock;
  log: Logger;
}

export type GatewayEvent = PresenceEvent | ClientMessageEvent;

export const maxEventsPerRequest = 500;
const timeoutMs = 10_000;

/** Sends events to push.events-uri, in signed requests. */
export class EventSender {
  readonly #options: EventSenderOptions;
  /** Since when requests fail, in elapsed time; null: the last one was accepted. */
  #failingSinceMs: number | null = null;
  readonly counters = { accepted: 0, failedRequests: 0 };

  constructor(options: EventSenderOptions) {
    this.#options = options;
  }

  /** Sends one request. Rejects unless it was accepted; the events may have arrived nevertheless. */
  async send(events: readonly GatewayEvent[]): Promise<void> {
    const fault = await this.#fault(events);
    if (fault === null) {
      this.counters.accepted += events.length;
      this.#noteAccepted();
      return;
    }
    this.counters.failedRequests++;
    this.#noteFailed(fault);
    throw new Error(fault);
  }

  /** Why the request was not accepted; never contains the address or the answer. */
  async #fault(events: readonly GatewayEvent[]): Promise<string | null> {
    const { uri, secret, fetch, clock } = this.#options;
    const body = bodyOf(events);
    const seconds = Math.floor(clock.now() / 1000);
    const controller = new AbortController();
    const { signal } = controller;
    const timer = setTimeout(() => controller.abort(), timeoutMs);
    try {
      const response = await fetch(uri, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "user-agent": "Slipway",
          ...webhookHeaders(requestId(events), seconds, body, secret),
        },
        body,
        redirect: "manual",
        signal,
      });
      await response.body?.cancel();
      return response.ok ? null : `it answered ${response.status}`;
    } catch {
      return signal.aborted ? `no answer within ${timeoutMs} ms` : "it cannot be reached";
    } finally {
      clearTimeout(timer);
    }
  }

  #noteAccepted(): void {
    if (this.#failingSinceMs === null) return;
    const { kind, clock, log } = this.#options;
    const seconds = Math.round((clock.elapsed() - this.#failingSinceMs) / 1000);
    log.info({ kind, seconds }, "push.events-uri accepts events again");
    this.#failingSinceMs = null;
  }

  #noteFailed(reason: string): void {
    if (this.#failingSinceMs !== null) return;
    const { kind, clock, log } = this.#options;
    this.#failingSinceMs = clock.elapsed();
    log.warn({ kind, reason }, "push.events-uri does not accept events; they wait and are sent again");
  }
}

/** The same events have the same body. */
function bodyOf(events: readonly GatewayEvent[]): string {
  const timestamp = new Date(Math.round(events.at(-1)?.ts ?? 0)).toISOString();
  return JSON.stringify({ type: "push.events", timestamp, data: { events } });
}

/** The same events have the same id. */
function requestId(events: readonly GatewayEvent[]): string {
  const ids = events.map(({ id }) => id).join("\n");
  return `events-${new Bun.CryptoHasher("sha256").update(ids).digest("hex").slice(0, 32)}`;
}
