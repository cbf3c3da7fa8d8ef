import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { Metrics } from "../metrics.ts";
import { type Reason, renderReason } from "../reason/reason.ts";
import { BrokerLog } from "./broker-log.ts";
import type { Bus, BusState, ExternalTopic } from "./bus.ts";
import { newBusCounters, registerBusMetrics } from "./bus-metrics.ts";
import { reasonOf } from "./failure-reason.ts";
import { InFlight, queueUnavailable } from "./in-flight.ts";
import type { LogName, MarkerRecord } from "./log.ts";
import { keepMarking } from "./log-markers.ts";
import { OutageLog } from "./outage-log.ts";
import { Reconnector, type SessionEvents } from "./reconnector.ts";
import { TopicRefusals } from "./topic-refusals.ts";

/** A connection to a broker, from "declared and reading" until it breaks. */
export interface BrokerSession {
  /** Resolves once the broker has confirmed. Called in order, without waiting for earlier calls. */
  append(log: LogName, id: string, body: string): Promise<void>;
  publish(topic: ExternalTopic, key: string, id: string, body: string): Promise<void>;
  close(): Promise<void>;
}

/** What a session needs from the bus, and reports to it. */
export interface BrokerLink extends SessionEvents {
  /** The logs to read. */
  logs: BrokerLog[];
  /** The broker refuses a topic for other services. The session continues. */
  topicRefused(topic: ExternalTopic, cause: unknown): void;
  /** The broker works, and something about the subject should be changed there. Null: nothing. */
  warning(subject: string, text: Reason | null): void;
}

/** Opens sessions with RabbitMQ or Kafka. */
export interface Broker {
  readonly name: string;
  /** See `BrokerLogOptions`. */
  readonly isContiguous: boolean;
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

/** Pause of a session whose broker accepts no records of anyone. */
export const blocked = "blocked";

/** Below the documented 5 s, so that the caller is answered by then. */
const publishDeadlineMs = 4_000;
const openTimeoutMs = 10_000;
/** Short, so that a broker that is back is used within seconds. */
const minDelayMs = 100;
const maxDelayMs = 2_000;
const maxInFlight = 10_000;
const maxInFlightBytes = 64 * 1024 * 1024;

/** The bus over a broker: one session at a time, two logs that survive sessions, bounded publishes. */
export class BrokerBus implements Bus {
  readonly name: string;
  readonly isCluster = true;
  readonly broadcast: BrokerLog;
  readonly control: BrokerLog;
  readonly #reconnector: Reconnector<BrokerSession>;
  readonly #inFlight: InFlight;
  readonly #counters = newBusCounters();
  readonly #refusals: TopicRefusals;
  readonly #outages: OutageLog;
  readonly #log: Logger;
  readonly #warnings = new Map<string, Reason>();
  #isClosing = false;

  constructor(broker: Broker, { prefix, log: parent, clock, random, metrics }: BrokerBusOptions) {
    const log = parent.child({ bus: broker.name });
    this.#log = log;
    this.name = broker.name;
    const open = (name: LogName) =>
      new BrokerLog({
        name,
        append: (_, value) =>
          this.#send(name, value, (session, body) => session.append(name, value.id, body)),
        isContiguous: broker.isContiguous,
        clock,
        log,
      });
    this.broadcast = open("broadcast");
    this.control = open("control");
    this.#refusals = new TopicRefusals(log, clock);
    this.#outages = new OutageLog(log, clock);
    this.#reconnector = new Reconnector<BrokerSession>({
      open: (events) => this.#open(broker, events),
      readyDetail: `reading from ${broker.name}, prefix ${prefix}`,
      outages: this.#outages,
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
        // A broker that accepts no records of anyone is not gone.
        if (!this.#reconnector.isPaused(blocked))
          this.#reconnector.break(new Error("the broker stopped confirming"));
      },
    });
    // A broker that resumes first confirms the earlier messages.
    this.#reconnector.onStateChange(({ ready }) => ready && this.#inFlight.noteResumed());
    if (!metrics) return;
    registerBusMetrics(metrics, {
      counters: this.#counters,
      isReady: () => this.state().ready,
      inFlight: () => this.#inFlight.count,
      received: () => this.broadcast.arrived + this.control.arrived,
    });
  }

  publish(topic: ExternalTopic, key: string, message: { id: string }): Promise<void> {
    return this.#send(topic, message, (session, body) => session.publish(topic, key, message.id, body));
  }

  start(): void {
    this.#reconnector.start();
  }

  state(): BusState {
    return this.#reconnector.state();
  }

  onStateChange(listener: (state: BusState) => void): void {
    this.#reconnector.onStateChange(listener);
  }

  /** What should be changed at the broker, in sentences with the commands. */
  warnings(): Reason[] {
    return [...this.#warnings.values()];
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#inFlight.drained();
    await this.#reconnector.close();
    this.#inFlight.stop();
    this.#outages.close();
  }

  /** Those that are read: a bus may carry only the topics for other services. */
  #logs(): BrokerLog[] {
    return [this.broadcast, this.control].filter(({ isRead }) => isRead);
  }

  async #send(
    to: LogName | ExternalTopic,
    value: { id: string },
    send: (session: BrokerSession, body: string) => Promise<void>,
  ): Promise<void> {
    try {
      const session = this.#reconnector.session();
      if (!session || this.#isClosing) throw queueUnavailable(this.#reconnector.state().detail);
      const refusal = this.#refusals.of(to);
      if (refusal) throw refusal;
      const body = JSON.stringify(value);
      const log = to === "broadcast" || to === "control" ? to : undefined;
      await this.#inFlight.run(body.length, () => send(session, body), log);
      this.#counters.confirmed[to]++;
    } catch (error) {
      this.#counters.refused++;
      this.#outages.noteRefused(reasonOf(error));
      throw error;
    }
  }

  async #open(broker: Broker, events: SessionEvents): Promise<BrokerSession> {
    const { signal } = events;
    this.#counters.sessions++;
    signal.addEventListener("abort", () => this.#inFlight.rejectAll("the connection to it was lost"), {
      once: true,
    });
    const logs = this.#logs();
    const session = await broker.open({
      ...events,
      logs,
      topicRefused: (topic, cause) => {
        // A closing session closes its channels, which is not a refusal.
        if (!this.#isClosing && !signal.aborted) this.#refusals.add(topic, cause);
      },
      warning: (subject, text) => this.#noteWarning(subject, text),
    });
    for (const log of logs)
      void keepMarking({
        log,
        events,
        send: (marker) => this.#sendMarker(session, log.name, marker),
        isBlocked: () => this.#reconnector.isPaused(blocked),
      });
    return session;
  }

  /** Logged when it appears, not when its numbers change. */
  #noteWarning(subject: string, text: Reason | null): void {
    if (text === null) {
      this.#warnings.delete(subject);
      return;
    }
    if (!this.#warnings.has(subject)) this.#log.warn(renderReason(text));
    this.#warnings.set(subject, text);
  }

  /** Not bounded in time, but a broker that is silent ends the session. */
  #sendMarker(session: BrokerSession, name: LogName, marker: MarkerRecord): Promise<void> {
    const body = JSON.stringify(marker);
    const confirmed = session.append(name, marker.id, body);
    this.#inFlight.run(body.length, () => confirmed, name).catch(() => {});
    return confirmed;
  }
}
