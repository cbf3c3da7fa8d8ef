import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import type {
  Bus,
  BusHandler,
  BusMessage,
  BusState,
  OutwardTopic,
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

/** One life of a connection to a broker: from "declared and consuming" until it breaks. */
export interface BrokerSession {
  /** Resolves once the broker has confirmed. Called in order, not awaited one by one. */
  send(topic: Topic, key: string, message: BusMessage, body: string): Promise<void>;
  close(): Promise<void>;
}

export interface BrokerLink extends SessionEvents {
  /** Topics to consume. */
  topics: SharedTopic[];
  /** Hands over what arrived together; acknowledge, and bring more, once it is done. */
  receive(topic: SharedTopic, records: BrokerRecord[]): void | Promise<void>;
  /** Called when the start position is known; the recall is completed before reading starts. Null: no recall is needed. */
  recall(topic: SharedTopic): RecallOrder | null;
  /** The broker does not keep messages for a recall. The session continues without it. */
  recallRefused(cause: unknown): void;
  /** What follows may not be all that was published since the last message; said before it is received. */
  lost(topic: SharedTopic): void;
  /** The broker does not take a topic that other services read. The session goes on. */
  refused(topic: OutwardTopic, cause: unknown): void;
}

/** Receives earlier messages that are read again, in any number of parts, then `end`. */
export interface RecallOrder {
  windowMs: number;
  take(records: BrokerRecord[]): void;
  end(): void;
}

/** What RabbitMQ and Kafka each bring: how a session is opened. */
export interface Broker {
  readonly name: string;
  open(link: BrokerLink): Promise<BrokerSession>;
}

export interface BrokerBusOptions {
  prefix: string;
  log: Log;
  clock: Clock;
  random(): number;
  /** Where the counters are shown; nowhere in tests that need none. */
  metrics?: Metrics;
}

/** Below the 5 s that are promised, so that the answer is out by then. */
const publishDeadlineMs = 4_000;
const openTimeoutMs = 10_000;
/** The longest wait is short: a broker that is back must find us within seconds. */
const minDelayMs = 100;
const maxDelayMs = 2_000;
const maxInFlight = 10_000;
const maxInFlightBytes = 64 * 1024 * 1024;

/** The bus over a broker: one supervised session, bounded publishes, doubles dropped. */
export class BrokerBus implements Bus {
  readonly name: string;
  readonly #inboxes = new Map<SharedTopic, Inbox>();
  readonly #supervisor: Supervisor<BrokerSession>;
  readonly #inFlight: InFlight;
  readonly #log: Log;
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
        // A broker that said itself that it takes nothing for now is not gone.
        if (this.#supervisor.session()) this.#supervisor.break(new Error("the broker stopped confirming"));
      },
    });
    // A broker that takes messages again confirms first what it was given before.
    this.#supervisor.onStateChange(({ ready }) => ready && this.#inFlight.heard());
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

  takes(topic: Topic): boolean {
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
      receive: (topic, records) => this.#inboxes.get(topic)?.take(records),
      recall: (topic) => this.#recallOf(topic, events),
      recallRefused: (cause) =>
        this.#log.warn(
          { error: reasonOf(cause) },
          "the broker does not keep messages with an idempotency key; an instance that starts does not know earlier keys",
        ),
      lost: (topic) => this.#inboxes.get(topic)?.lost(),
      refused: (topic, cause) => {
        // With a session that ends its channels end too.
        if (!this.#isClosing && !events.signal.aborted) this.#refusals.add(topic, cause);
      },
    };
  }

  #recallOf(topic: SharedTopic, events: SessionEvents): RecallOrder | null {
    const inbox = this.#inboxes.get(topic);
    const windowMs = inbox?.recallWindowMs ?? null;
    if (!inbox || windowMs === null) return null;
    return {
      windowMs,
      take(records) {
        events.progressed();
        inbox.recalled(records);
      },
      end: () => inbox.endRecall(),
    };
  }
}
