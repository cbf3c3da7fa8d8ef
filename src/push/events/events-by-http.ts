import type { Clock } from "../../clock.ts";
import type { Logger } from "../../logger.ts";
import { type Metrics, metricGroup } from "../../metrics.ts";
import { EventSender } from "./event-sender.ts";
import { MessageBuffer } from "./message-buffer.ts";

export interface EventsByHttpOptions {
  uri: string;
  /** Null: requests have no signature. */
  secret: string | null;
  clock: Clock;
  log: Logger;
}

/** What this process sends to push.events-uri. */
export class EventsByHttp {
  readonly presence: EventSender;
  readonly messages: MessageBuffer;
  readonly #messageSender: EventSender;
  #presenceDropped = 0;

  constructor(options: EventsByHttpOptions) {
    this.presence = new EventSender({ ...options, kind: "presence", fetch });
    this.#messageSender = new EventSender({ ...options, kind: "message", fetch });
    this.messages = new MessageBuffer(this.#messageSender);
  }

  /** Too many presence events wait, and some were left out. */
  notePresenceDropped(count: number): void {
    this.#presenceDropped += count;
  }

  registerMetrics(registry: Metrics, presenceWaiting: () => number): void {
    const { labelledCounter, labelledGauge } = metricGroup(registry, "slipway_push_events_");
    const { presence, messages } = this;
    const message = this.#messageSender;
    const byKind = (ofPresence: number, ofMessages: number): [string, number][] => [
      ["presence", ofPresence],
      ["message", ofMessages],
    ];
    labelledCounter("accepted_total", "Events that push.events-uri accepted.", "kind", () =>
      byKind(presence.counters.accepted, message.counters.accepted),
    );
    labelledCounter("failed_requests_total", "Requests that push.events-uri did not accept.", "kind", () =>
      byKind(presence.counters.failedRequests, message.counters.failedRequests),
    );
    labelledCounter("dropped_total", "Events that push.events-uri will not receive.", "kind", () =>
      byKind(this.#presenceDropped, messages.refused),
    );
    labelledGauge("waiting", "Events that wait for push.events-uri.", "kind", () =>
      byKind(presenceWaiting(), messages.count),
    );
  }
}
