import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { Metrics } from "../metrics.ts";
import type {
  Bus,
  BusHandler,
  BusMessage,
  BusState,
  ExternalTopic,
  Recall,
  SharedTopic,
  Topic,
} from "./bus.ts";
import { newBusCounters, registerBusMetrics } from "./bus-metrics.ts";
import { reasonOf } from "./failure-reason.ts";
import { InFlight, queueUnavailable } from "./in-flight.ts";
import { type BrokerRecord, Inbox } from "./inbox.ts";
import { type SessionEvents, Supervisor } from "./supervisor.ts";
import { TopicRefusals } from "./topic-refusals.ts";

/** A connection to a broker, from "declared and consuming" until it breaks. */
export interface BrokerSession {
  /** Resolves once the broker has confirmed. Called in order, without waiting for earlier calls. */
  send(topic: Topic, key: string, message: BusMessage, body: string): Promise<void>;
  close(): Promise<void>;
}

/** What a session needs from the bus, and reports to it. */
export interface BrokerLink extends SessionEvents {
  /** Topics to consume. */
  topics: SharedTopic[];
  /** Passes on messages that arrived together. The session acknowledges them, and sends more, once it returns. */
  receive(topic: SharedTopic, records: BrokerRecord[]): void | Promise<void>;
  /** Called when the start position is known; the recall is completed before reading starts. Null: no recall is needed. */
  recallRequest(topic: SharedTopic): RecallRequest | null;
  /** The broker does not keep messages for a recall. The session continues without recalls. */
  recallRefused(cause: unknown): void;
  /** Messages since the last one may be lost. Called before later messages are passed on. */
  reportLoss(topic: SharedTopic): void;
  /** No message is missing, but later ones arrive in another order than on other instances. Called before them. */
  reportReordered(topic: SharedTopic): void;
  /** The broker refuses a topic for other services. The session continues. */
  topicRefused(topic: ExternalTopic, cause: unknown): void;
}

/** Receives earlier messages in any number of parts, then `end`. */
export interface RecallRequest {
  windowMs: number;
  take(records: BrokerRecord[]): void;
  end(): void;
}

/** Opens sessions with RabbitMQ or Kafka. */
export interface Broker {
  readonly name: string;
  open(link: BrokerLink): Promise<BrokerSession>;
}

export interface BrokerBusOptions {
  prefix: string;
  log: Logger;
  clock: Clock;
  random(): number;
  /** Undefined in tests that need no metrics. */
  metrics?: Metrics;
}

/** Below the documented 5 s, so that the caller is answered by then. */
const publishDeadlineMs = 4_000;
const openTimeoutMs = 10_000;
/** Short, so that a broker that is back is used within seconds. */
const minDelayMs = 100;
const maxDelayMs = 2_000;
const maxInFlight = 10_000;
const maxInFlightBytes = 64 * 1024 * 1024;

/** The bus over a broker: one supervised session, bounded publishes, duplicates dropped. */
export class BrokerBus implements Bus {
  readonly name: string;
  readonly #inboxes = new Map<SharedTopic, Inbox>();
  readonly #supervisor: Supervisor<BrokerSession>;
  readonly #inFlight: InFlight;
  readonly #log: Logger;
  readonly #counters = newBusCounters();
  readonly #refusals: TopicRefusals;
  #isClosing = false;

  constructor(broker: Broker, { prefix, log, clock, random, metrics }: BrokerBusOptions) {
    this.name = broker.name;
    this.#log = log.child({ bus: broker.name });
    this.#refusals = new TopicRefusals(this.#log, clock);
    this.#supervisor = new Supervisor<BrokerSession>({
      open: (events) => broker.open(this.#link(events)),
      readyDetail: `consuming from ${broker.name}, prefix ${prefix}`,
      log: this.#log,
      clock,
      random,
      openTimeoutMs,
      minDelayMs,
      maxDelayMs,
    });
    this.#inFlight = new InFlight({
      maxCount: maxInFlight,
      maxBytes: maxInFlightBytes,
      deadlineMs: publishDeadlineMs,
      clock,
      onSilence: () => {
        // A broker that paused publishing itself is not gone.
        if (this.#supervisor.session()) this.#supervisor.break(new Error("the broker stopped confirming"));
      },
    });
    // A broker that resumes first confirms the earlier messages.
    this.#supervisor.onStateChange(({ ready }) => ready && this.#inFlight.noteActivity());
    if (!metrics) return;
    registerBusMetrics(metrics, {
      counters: this.#counters,
      isReady: () => this.state().ready,
      inFlight: () => this.#inFlight.count,
    });
  }

  async publish(topic: Topic, key: string, message: BusMessage): Promise<void> {
    try {
      await this.#send(topic, key, message);
      this.#counters.confirmed[topic]++;
    } catch (error) {
      this.#counters.refused++;
      throw error;
    }
  }

  accepts(topic: Topic): boolean {
    const isOpen = !this.#isClosing && this.#supervisor.session() !== undefined;
    return isOpen && !this.#inFlight.isFull && this.#refusals.of(topic) === undefined;
  }

  #send(topic: Topic, key: string, message: BusMessage): Promise<void> {
    const session = this.#supervisor.session();
    if (!session || this.#isClosing) return Promise.reject(queueUnavailable(this.#supervisor.state().detail));
    const refusal = this.#refusals.of(topic);
    if (refusal) return Promise.reject(refusal);
    const body = JSON.stringify(message);
    return this.#inFlight.run(body.length, () => session.send(topic, key, message, body));
  }

  subscribe(topic: SharedTopic, handle: BusHandler, onLoss = () => {}, recall?: Recall): void {
    const counted: BusHandler = (messages) => {
      this.#counters.received += messages.length;
      return handle(messages);
    };
    this.#inboxes.set(topic, new Inbox(counted, onLoss, recall, this.#log));
  }

  start(): void {
    this.#supervisor.start();
  }

  state(): BusState {
    return this.#supervisor.state();
  }

  onStateChange(listener: (state: BusState) => void): void {
    this.#supervisor.onStateChange(listener);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#inFlight.drained();
    await this.#supervisor.close();
    this.#inFlight.stop();
  }

  #link(events: SessionEvents): BrokerLink {
    this.#counters.sessions++;
    events.signal.addEventListener("abort", () => this.#inFlight.rejectAll("the connection to it was lost"), {
      once: true,
    });
    return {
      ...events,
      topics: [...this.#inboxes.keys()],
      receive: (topic, records) => this.#inboxes.get(topic)?.receive(records),
      recallRequest: (topic) => this.#recallRequest(topic, events),
      recallRefused: (cause) =>
        this.#log.warn(
          { error: reasonOf(cause) },
          "the broker does not keep messages with an idempotency key; an instance that starts does not know earlier keys",
        ),
      reportLoss: (topic) => this.#inboxes.get(topic)?.reportLoss(),
      reportReordered: (topic) => this.#inboxes.get(topic)?.reportReordered(),
      topicRefused: (topic, cause) => {
        // A closing session closes its channels, which is not a refusal.
        if (!this.#isClosing && !events.signal.aborted) this.#refusals.add(topic, cause);
      },
    };
  }

  #recallRequest(topic: SharedTopic, events: SessionEvents): RecallRequest | null {
    const inbox = this.#inboxes.get(topic);
    const windowMs = inbox?.recallWindowMs ?? null;
    if (!inbox || windowMs === null) return null;
    return {
      windowMs,
      take(records) {
        events.progressed();
        inbox.receiveRecalled(records);
      },
      end: () => inbox.endRecall(),
    };
  }
}
