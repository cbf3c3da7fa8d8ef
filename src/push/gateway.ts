import type { BusState } from "../bus/bus.ts";
import type { Clock } from "../clock.ts";
import { oncePerPeriod, oncePerSecond } from "../once-per-second.ts";
import { Admission } from "./admission/admission.ts";
import { ConnectRate } from "./admission/connect-rate.ts";
import { Expiry } from "./admission/expiry.ts";
import { NewConnections } from "./admission/new-connections.ts";
import { originCheck } from "./admission/origin.ts";
import { SingleUse, singleUseWindowMs } from "./admission/single-use.ts";
import { CodeVerifier } from "./admission/verification-order.ts";
import { ClientMessages } from "./client-messages.ts";
import { ClusterQuestions } from "./cluster-questions.ts";
import { Channels } from "./connection/channels.ts";
import { Connections } from "./connection/connections.ts";
import { Heartbeat, tickMsOf } from "./connection/heartbeat.ts";
import { answeredReport } from "./connections-report.ts";
import { Control } from "./control.ts";
import { Drain } from "./drain.ts";
import { EventStreams } from "./event-streams.ts";
import { type CompressingFanout, compressed } from "./fanout/compression.ts";
import { Hub } from "./fanout/hub.ts";
import { ResumeRing } from "./fanout/resume-ring.ts";
import { SendBuffers } from "./fanout/send-buffer.ts";
import { StreamTopics } from "./fanout/stream-topics.ts";
import type { GatewayOptions, GatewayParts } from "./gateway-options.ts";
import { newPushCounters } from "./message/counters.ts";
import { memberFrame } from "./message/frames.ts";
import { idGenerator } from "./message/ids.ts";
import { SkippedRecords } from "./message/skipped-records.ts";
import { ChannelMembers } from "./presence/channel-members.ts";
import { Presence, presenceWindowMs } from "./presence/presence.ts";
import { eventSinks } from "./presence/presence-events.ts";
import { BroadcastReader } from "./publish/broadcast-reader.ts";
import { Idempotency } from "./publish/idempotency.ts";
import { Publisher } from "./publish/publisher.ts";
import { registerPushMetrics } from "./push-metrics.ts";
import { Refreshes } from "./refresh.ts";
import { SocketEvents } from "./socket-events.ts";
import { MessageTrace } from "./trace/message-trace.ts";
import { tracedHere } from "./trace/trace-answer.ts";

const fullLogMs = 10_000;
const fullText = "the server is full and refuses connections: raise push.max-connections, or add instances";

/** The push gateway of one process: its parts, and the timer that drives them. */
export class Gateway {
  readonly admission: Admission;
  readonly clientMessages: ClientMessages;
  readonly connections: Connections;
  readonly control: Control;
  readonly drain: Drain;
  readonly hub: Hub;
  readonly newConnections: NewConnections;
  readonly presence: Presence;
  readonly publisher: Publisher;
  readonly ring: ResumeRing;
  readonly sendBuffers: SendBuffers;
  readonly skipped: SkippedRecords;
  readonly sockets: SocketEvents;
  readonly streams: EventStreams;
  readonly trace: MessageTrace;
  readonly node: string;
  /** Whether other instances share the logs. */
  readonly isCluster: boolean;
  readonly #clock: Clock;
  readonly #steady: Clock;
  readonly #heartbeat: Heartbeat;
  readonly #idempotency = new Idempotency();
  readonly #singleUse: SingleUse;
  readonly #streamTopics = new StreamTopics();
  readonly #counters = newPushCounters();
  readonly #tickMs: number;
  readonly #caughtUp = Promise.withResolvers<void>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #tickedAtMs = 0;

  constructor(options: GatewayOptions, parts: GatewayParts) {
    const { bus, outbound, events, workers, clock, steady, random, log } = parts;
    const { node, bootTag, reservesConsoleNames } = options;
    const newId = idGenerator(bootTag);
    const connections = new Connections(workers?.names);
    this.connections = connections;
    const counters = this.#counters;
    this.node = node;
    this.#clock = clock;
    this.#steady = steady;
    const { isCluster } = bus;
    this.isCluster = isCluster;
    this.#singleUse = new SingleUse({ control: bus.control, node, newId, steady });
    const expiry = new Expiry(options.expiry, { clock, steady });
    this.newConnections = new NewConnections({
      ...options,
      newId: idGenerator(`c${bootTag}`),
      steady,
      expiry,
    });
    this.ring = new ResumeRing(options.resume);
    this.sendBuffers = new SendBuffers(options.sendBuffer, steady);
    const hasOtherInstance = () => isCluster && this.presence.instanceCount > 1;
    this.drain = new Drain(options.drain, { connections, hasOtherInstance, clock: steady, random });
    this.#tickMs = tickMsOf(options.pingIntervalMs);
    const { ring, sendBuffers, drain } = this;
    const trace = new MessageTrace({
      maxMessages: options.traceMessages,
      connections,
      instancesOf: (userId) => this.presence.instancesOf(userId),
      pongTimeoutMs: options.pongTimeoutMs,
      steady,
      log,
    });
    this.trace = trace;
    const hub = new Hub({
      connections,
      trace,
      ring,
      sendBuffers,
      counters,
      clock: steady,
      isShared: isCluster || workers !== null,
    });
    const verifySeconds = registerPushMetrics(parts.metrics, {
      counters,
      connections,
      sendBuffers,
      ring,
      presence: () => this.presence,
      placesTaken: () => this.admission.placesTaken,
      verificationsPending: () => this.admission.pending,
      eventStreams: () => this.streams.size,
    });
    const logVerifyFaults = oncePerSecond(steady, (count) =>
      log.error({ count }, "codes could not be verified"),
    );
    this.hub = hub;
    const isReading = () => isReadingIn(bus.state());
    // The others must know of this instance before a rolling restart goes on to the next one.
    bus.onStateChange(({ ready }) => ready && this.presence.tick(steady.now()));
    let toCatchUp = 2;
    const onCaughtUp = () => {
      toCatchUp--;
      if (toCatchUp === 0) this.#caughtUp.resolve();
    };
    this.admission = new Admission(options.admission, {
      instance: workers?.limits ?? null,
      isRefusing: () => drain.isRefusing,
      hasReachedBus: () => toCatchUp === 0,
      isAllowedOrigin: originCheck(options.allowedOrigins),
      connectRate: new ConnectRate(options.connectRate, steady),
      verifier: new CodeVerifier({
        ...parts.codes,
        singleUse: this.#singleUse,
        onJwtRefused: (refused) => trace.refusedTokens.add(refused),
        observe: (seconds, result) => verifySeconds.observe({ result }, seconds),
        clock: steady,
        onFault: logVerifyFaults,
      }),
      connections,
      counters,
      onFull: oncePerPeriod(fullLogMs, steady, (refused) =>
        log.warn({ refused, connections: connections.size }, fullText),
      ),
      clock: steady,
    });
    this.presence = new Presence({
      control: bus.control,
      isReady: () => bus.state().ready && toCatchUp === 0,
      process: bootTag,
      instance: workers?.instance ?? node,
      node,
      newId,
      steady,
      sinks: eventSinks({ outbound, events, node, steady, log }),
      reservesConsoleNames,
      onNotices(notices) {
        for (const { type, channel, userId } of notices)
          hub.notifyChannel(channel, memberFrame(type, channel, userId));
      },
    });
    events?.registerMetrics(parts.metrics, () => this.presence.waitingEvents("uri"));
    const members = new ChannelMembers(this.presence, events !== null);
    const channels = new Channels(connections, reservesConsoleNames, (socket, channel, isMember) =>
      members.changed(socket, channel, isMember),
    );
    const refreshes = new Refreshes({
      admission: this.admission,
      channels,
      expiry,
      sendBuffers,
      wallTimeOf: (steadyMs) => this.wallTimeOf(steadyMs),
    });
    this.clientMessages = new ClientMessages(options.clientMessages, {
      refreshes,
      trace,
      channels,
      ring,
      sendBuffers,
      counters,
      queue: parts.queuesClientMessages ? outbound : null,
      events: events?.messages ?? null,
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
        askRefresh: (socket) => refreshes.ask(socket),
        random,
      },
      steady.now(),
    );
    const skipped = new SkippedRecords(counters, steady, log);
    this.skipped = skipped;
    this.control = new Control({
      workers,
      control: bus.control,
      isCluster,
      connections,
      channels,
      sendBuffers,
      node,
      process: bootTag,
      instance: workers?.instance ?? node,
      questions: new ClusterQuestions(() => this.presence.processes),
      reportConnections: (userId) => answeredReport(this, userId),
      receiveFrame: (stream, text) => this.streams.receiveHere(stream, text),
      reportMessages: (question) => tracedHere(this, question),
      newId,
      presence: (offset, message) => this.presence.receive(offset, message),
      used: (record, message) => this.#singleUse.receive(record, message),
      skipped,
      onCaughtUp: () => {
        this.presence.caughtUp();
        onCaughtUp();
      },
      onLost: () => this.presence.lost(),
    });
    const { maxMessageBytes } = options;
    this.publisher = new Publisher({
      broadcast: bus.broadcast,
      isCluster,
      hub,
      trace,
      idempotency: this.#idempotency,
      clock,
      steady,
      telemetry: parts.telemetry,
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
      trace,
      isReading,
      counters,
      log,
      clock: steady,
      wallTimeOf: (steadyMs) => this.wallTimeOf(steadyMs),
      pingIntervalMs: options.pingIntervalMs,
    });
    this.streams = new EventStreams({
      topics: this.#streamTopics,
      position: () => ring.position,
      sockets: this.sockets,
      control: this.control,
      process: bootTag,
    });
    const broadcastReader = new BroadcastReader({
      hub,
      connections,
      idempotency: this.#idempotency,
      trace,
      counters,
      rules: { maxMessageBytes, reservesConsoleNames, clock },
      steady,
      telemetry: parts.telemetry,
      skipped,
      onCaughtUp,
      onAdvanced: () => this.sockets.resumeEarly(),
    });
    bus.broadcast.read(Math.max(this.#idempotency.windowMs, ring.maxAgeMs), broadcastReader);
    bus.control.read(Math.max(presenceWindowMs, singleUseWindowMs), this.control);
  }

  /** Resolves when both logs were read to their end once. */
  get caughtUp(): Promise<void> {
    return this.#caughtUp.promise;
  }

  /** Messages of applications distributed here since the start: without those for the console. */
  get published(): number {
    const { messages, consoleMessages } = this.#counters;
    return Object.values(messages).reduce((sum, count) => sum + count, -consoleMessages);
  }

  start(fanout: CompressingFanout): void {
    this.hub.attach(this.#streamTopics.with(this.sendBuffers.compresses ? compressed(fanout) : fanout));
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
    this.sockets.resumeEarly();
    this.drain.tick(nowMs);
    this.ring.dropOld(nowMs);
    this.#idempotency.dropOld(nowMs);
    this.#singleUse.dropOld(nowMs);
  }

  /** Converts a time of the steady clock to the system clock as it is set now. */
  wallTimeOf(steadyMs: number): number {
    return Math.round(this.#clock.now() + steadyMs - this.#steady.now());
  }

  /** Users online on all instances, from what this instance has received; it never waits for others. */
  onlineUsersOfCluster(): string[] {
    return this.presence.users();
  }
}

function isReadingIn({ ready, isReceiving }: BusState): boolean {
  return ready || isReceiving === true;
}
