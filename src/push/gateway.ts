import type { Bus, BusState } from "../bus/bus.ts";
import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { Metrics } from "../metrics.ts";
import { oncePerSecond } from "../once-per-second.ts";
import { Admission, type AdmissionOptions, type InstanceLimits } from "./admission/admission.ts";
import { CodeVerifier, type CodeVerifierParts } from "./admission/code-verifier.ts";
import { ConnectRate } from "./admission/connect-rate.ts";
import { NewConnections } from "./admission/new-connections.ts";
import { originCheck } from "./admission/origin.ts";
import { type ClientMessageOptions, ClientMessages, type RemoteListeners } from "./client-messages.ts";
import { Channels } from "./connection/channels.ts";
import { Connections, type NameWatch } from "./connection/connections.ts";
import { Heartbeat, tickMsOf } from "./connection/heartbeat.ts";
import { type ConnectionSelector, Control } from "./control.ts";
import { Drain, type DrainOptions } from "./drain.ts";
import { type Fanout, Hub } from "./fanout/hub.ts";
import { ResumeRing, type ResumeRingOptions } from "./fanout/resume-ring.ts";
import { type SendBufferOptions, SendBuffers } from "./fanout/send-buffer.ts";
import { newPushCounters } from "./message/counters.ts";
import { idGenerator } from "./message/ids.ts";
import { type PresenceEvent, presenceEventId } from "./message/message.ts";
import { ClusterPresence, presenceBeatMs } from "./presence/cluster-presence.ts";
import { InstancePresence } from "./presence/instance-presence.ts";
import { presenceGraceMs } from "./presence/reporter.ts";
import { distribute } from "./publish/distributor.ts";
import { Idempotency, idempotencyDefaults } from "./publish/idempotency.ts";
import type { KeyFile } from "./publish/key-file.ts";
import { LossDetector } from "./publish/loss-detector.ts";
import { type InstanceKeys, Publisher } from "./publish/publisher.ts";
import { registerPushMetrics } from "./push-metrics.ts";
import { SocketEvents } from "./socket-events.ts";

export interface GatewayOptions {
  /** Stable name of this instance. */
  node: string;
  /** Random prefix of ids, new for each process. */
  bootTag: string;
  /** Identifies the positions in the resume ring, which workers without a broker have in common. */
  originId: string;
  admission: AdmissionOptions;
  connectRate: number;
  maxMessageBytes: number;
  allowedOrigins: readonly string[];
  publicChannels: readonly string[];
  /** Whether only the console may join its channels. */
  reservesConsoleNames: boolean;
  tempMaxLifetimeMs: number;
  pingIntervalMs: number;
  pongTimeoutMs: number;
  clientMessages: ClientMessageOptions;
  sendBuffer: SendBufferOptions;
  resume: Omit<ResumeRingOptions, "originId">;
  drain: Omit<DrainOptions, "random">;
}

export interface GatewayParts {
  /** Carries `broadcast` and `control`. */
  bus: Bus;
  /** Carries `client` and `events` to other services; null: they are not written. */
  outbound: Bus | null;
  /** Whether client messages are written to `outbound`. */
  queuesClientMessages: boolean;
  /** The other workers of this instance; null: this process is the whole instance. */
  workers: GatewayWorkers | null;
  codes: Pick<CodeVerifierParts, "own" | "remote">;
  /** Keeps idempotency keys across a restart; null: only the bus recalls them. */
  keyFile: KeyFile | null;
  /** The time of messages and events. */
  clock: Clock;
  /** For deadlines. */
  steady: Clock;
  random: () => number;
  metrics: Metrics;
  log: Logger;
}

/** What the workers of one instance have in common. */
export interface GatewayWorkers {
  limits: InstanceLimits;
  /** Null: the broker carries the messages, with their keys. */
  keys: InstanceKeys | null;
  names: NameWatch;
  countConnections(selector: ConnectionSelector): Promise<number>;
  clientMessages: RemoteListeners;
  /** Name of this worker among the instances that announce their users. */
  presenceNode: string;
}

/** The push gateway of one process: its parts, and the timer that drives them. */
export class Gateway {
  readonly admission: Admission;
  readonly clientMessages: ClientMessages;
  readonly connections: Connections;
  readonly control: Control;
  readonly drain: Drain;
  readonly hub: Hub;
  readonly newConnections: NewConnections;
  /** Presence on the other instances; null in local mode. */
  readonly cluster: ClusterPresence | null;
  readonly presence: InstancePresence | ClusterPresence;
  readonly publisher: Publisher;
  readonly ring: ResumeRing;
  readonly sendBuffers: SendBuffers;
  readonly sockets: SocketEvents;
  readonly node: string;
  readonly #clock: Clock;
  readonly #steady: Clock;
  readonly #heartbeat: Heartbeat;
  readonly #idempotency: Idempotency;
  readonly #counters = newPushCounters();
  readonly #losses: LossDetector;
  readonly #tickMs: number;
  readonly #isClusterBus: boolean;
  #timer: ReturnType<typeof setInterval> | undefined;
  #tickedAtMs = 0;

  constructor(options: GatewayOptions, parts: GatewayParts) {
    const { bus, outbound, workers, clock, steady, random, log } = parts;
    const { node, bootTag } = options;
    const newId = idGenerator(bootTag);
    const connections = new Connections(workers?.names);
    this.connections = connections;
    const counters = this.#counters;
    this.node = node;
    this.#clock = clock;
    this.#steady = steady;
    const isShared = bus.name !== "local";
    this.#isClusterBus = isShared && bus.name !== "workers";
    this.#idempotency = new Idempotency({ ...idempotencyDefaults, isShared }, parts.keyFile);
    // A message whose acknowledgement was lost with the process arrives once more, and is then delivered.
    for (const [key, record] of parts.keyFile?.load(idempotencyDefaults.windowMs) ?? [])
      this.#idempotency.recall(key, { ...record, isRecalled: isShared }, steady.now());
    this.newConnections = new NewConnections({ ...options, newId: idGenerator(`c${bootTag}`), steady });
    this.ring = new ResumeRing({ ...options.resume, originId: options.originId });
    this.sendBuffers = new SendBuffers(options.sendBuffer, steady);
    this.drain = new Drain({ ...options.drain, random }, connections, steady);
    this.#tickMs = tickMsOf(options.pingIntervalMs);
    const { ring, sendBuffers, drain } = this;
    const hub = new Hub({
      connections,
      ring,
      sendBuffers,
      counters,
      clock: steady,
      isShared,
      onSent: bus.receipts ? (id, receivers) => bus.receipts?.note(id, receivers) : null,
    });
    const channels = new Channels(connections, options.reservesConsoleNames);
    const verifySeconds = registerPushMetrics(parts.metrics, {
      counters,
      connections,
      sendBuffers,
      ring,
      cluster: () => this.cluster,
      placesTaken: () => this.admission.placesTaken,
      verificationsPending: () => this.admission.pending,
    });
    const logVerifyFaults = oncePerSecond(steady, (count) =>
      log.error({ count }, "codes could not be verified"),
    );
    this.hub = hub;
    const reachesBus = ({ ready, isReceiving }: BusState) => ready || isReceiving === true;
    let hasReachedBus = reachesBus(bus.state());
    bus.onStateChange((state) => {
      hasReachedBus ||= reachesBus(state);
      // The others must know of this instance before a rolling restart goes on to the next one.
      if (state.ready) this.cluster?.tick(steady.now());
    });
    this.admission = new Admission(options.admission, {
      instance: workers?.limits ?? null,
      isRefusing: () => drain.isRefusing,
      hasReachedBus: () => hasReachedBus,
      isAllowedOrigin: originCheck(options.allowedOrigins),
      connectRate: new ConnectRate(options.connectRate, steady),
      verifier: new CodeVerifier({
        ...parts.codes,
        observe: (seconds, result) => verifySeconds.observe({ result }, seconds),
        clock: steady,
        onFault: logVerifyFaults,
      }),
      connections,
      counters,
    });
    const warnEventsLost = oncePerSecond(steady, (count) =>
      log.warn({ count }, "presence events could not be written to the queue"),
    );
    const publishEvent = async (type: PresenceEvent["type"], userId: string, occasion: number) => {
      const id = presenceEventId(type, userId, occasion);
      const event: PresenceEvent = { v: 1, id, ts: clock.now(), node, type, userId };
      await outbound?.publish("events", userId, event);
    };
    const isOnlineHere = (userId: string) => connections.isOnline(userId);
    // Workers without a queue have nobody to report presence to.
    const isAlone = bus.name === "local" || (bus.name === "workers" && outbound === null);
    this.cluster = isAlone
      ? null
      : new ClusterPresence({
          bus,
          node: workers?.presenceNode ?? node,
          boot: bootTag,
          newId,
          isOnlineHere,
          clock,
          steady,
          beatMs: presenceBeatMs,
          graceMs: presenceGraceMs,
          publishEvent,
          onEventsLost: warnEventsLost,
        });
    this.presence =
      this.cluster ??
      new InstancePresence({
        isOnline: isOnlineHere,
        clock,
        steady,
        graceMs: presenceGraceMs,
        publishEvent,
        onEventsLost: warnEventsLost,
      });
    const losses = new LossDetector({ bus, ring, connections, counters, steady });
    this.#losses = losses;
    this.clientMessages = new ClientMessages(options.clientMessages, {
      channels,
      ring,
      sendBuffers,
      counters,
      queue: parts.queuesClientMessages ? outbound : null,
      remote: workers?.clientMessages ?? null,
      clock,
      steady,
      log,
      node,
      newId,
    });
    this.#heartbeat = new Heartbeat(
      {
        pingIntervalMs: options.pingIntervalMs,
        pongTimeoutMs: options.pongTimeoutMs,
        heartbeatContent: options.clientMessages.heartbeatContent,
        tickMs: this.#tickMs,
        random,
      },
      steady.now(),
    );
    this.control = new Control({
      workers,
      bus,
      connections,
      channels,
      sendBuffers,
      node,
      newId,
      presence: (message) => this.cluster?.receive(message),
    });
    const { maxMessageBytes } = options;
    this.publisher = new Publisher({
      instanceKeys: workers?.keys ?? null,
      bus,
      hub,
      idempotency: this.#idempotency,
      clock,
      steady,
      log,
      node,
      newId,
      maxMessageBytes,
    });
    this.sockets = new SocketEvents({
      admission: this.admission,
      connections,
      channels,
      clientMessages: this.clientMessages,
      drain,
      heartbeat: this.#heartbeat,
      hub,
      presence: this.presence,
      ring,
      sendBuffers,
      losses,
      counters,
      log,
      clock: steady,
      wallTimeOf: (steadyMs) => this.wallTimeOf(steadyMs),
      pingIntervalMs: options.pingIntervalMs,
    });
    distribute({
      bus,
      hub,
      keptRing: bus.name === "workers" ? ring : null,
      idempotency: this.#idempotency,
      counters,
      losses,
      clock,
      steady,
      log,
      newId,
      maxMessageBytes,
      reservesConsoleNames: options.reservesConsoleNames,
      control: (message) => this.control.apply(message),
      controlLost: () => this.cluster?.reportLoss(),
    });
  }

  /** Messages distributed here since the start. */
  get published(): number {
    return Object.values(this.#counters.messages).reduce((sum, count) => sum + count, 0);
  }

  start(fanout: Fanout): void {
    this.hub.attach(fanout);
    this.#tickedAtMs = this.#steady.now();
    this.#timer = setInterval(() => this.tick(), this.#tickMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  tick(): void {
    const nowMs = this.#steady.now();
    this.#counters.loopLagMs = Math.max(this.#counters.loopLagMs, nowMs - this.#tickedAtMs - this.#tickMs);
    this.#tickedAtMs = nowMs;
    this.#heartbeat.tick(nowMs);
    this.hub.tick();
    this.presence.tick(nowMs);
    this.#losses.tick(nowMs);
    this.drain.tick(nowMs);
    this.ring.dropOld(nowMs);
    this.#idempotency.dropOld(nowMs);
  }

  /** Converts a time of the steady clock to the system clock as it is set now. */
  wallTimeOf(steadyMs: number): number {
    return Math.round(this.#clock.now() + steadyMs - this.#steady.now());
  }

  /** Whether `onlineUsersOfCluster` includes users of other instances. */
  get isCluster(): boolean {
    return this.cluster !== null && this.#isClusterBus;
  }

  /** Users online on all instances, from what this instance has received; it never waits for others. */
  onlineUsersOfCluster(): string[] {
    return this.cluster?.onlineUsers() ?? this.connections.onlineUsers();
  }
}
