import type { BusState } from "../bus/bus.ts";
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
import type { Socket } from "./connection/connection.ts";
import { Connections } from "./connection/connections.ts";
import { Heartbeat, tickMsOf } from "./connection/heartbeat.ts";
import { channelTopic } from "./connection/recipients.ts";
import { answeredReport } from "./connections-report.ts";
import { Control } from "./control.ts";
import { Drain } from "./drain.ts";
import { CatchUp } from "./fanout/catch-up.ts";
import { type CompressingFanout, compressed } from "./fanout/compression.ts";
import { Hub } from "./fanout/hub.ts";
import { ResumeRing } from "./fanout/resume-ring.ts";
import { SendBuffers } from "./fanout/send-buffer.ts";
import { Topics } from "./fanout/topics.ts";
import { FrameRouting } from "./frame-routing.ts";
import type { GatewayOptions, GatewayParts } from "./gateway-options.ts";
import { newPushCounters } from "./message/counters.ts";
import { memberFrame } from "./message/frames.ts";
import { idGenerator } from "./message/ids.ts";
import { SkippedRecords } from "./message/skipped-records.ts";
import { OpenStreams } from "./open-streams.ts";
import { ChannelMembers } from "./presence/channel-members.ts";
import { Presence, presenceWindowMs } from "./presence/presence.ts";
import { eventSinks } from "./presence/presence-events.ts";
import { BroadcastReader } from "./publish/broadcast-reader.ts";
import { Idempotency } from "./publish/idempotency.ts";
import { Publisher } from "./publish/publisher.ts";
import { registerPushMetrics, verifySecondsIn } from "./push-metrics.ts";
import { Refreshes } from "./refresh.ts";
import { SocketEvents } from "./socket-events.ts";
import { StartingReads } from "./starting-reads.ts";
import { MessageTrace } from "./trace/message-trace.ts";
import { tracedHere } from "./trace/trace-answer.ts";

const fullLogMs = 10_000;
const fullText = "the server is full and refuses connections: raise push.max-connections, or add instances";

/**
 * The push gateway of one process: its parts, each made after those that it uses, and the timer that drives them. A part whose
 * figures are asked for later is passed as a function.
 */
export function buildGateway(options: GatewayOptions, parts: GatewayParts) {
  const { bus, outbound, events, workers, clock, steady, random, log, telemetry, metrics } = parts;
  const { node, bootTag, reservesConsoleNames, maxMessageBytes, pingIntervalMs, pongTimeoutMs } = options;
  const { isCluster } = bus;
  const instance = workers?.instance ?? node;
  const newId = idGenerator(bootTag);
  const tickMs = tickMsOf(pingIntervalMs);
  const wallTimeOf = (steadyMs: number) => Math.round(clock.now() + steadyMs - steady.now());

  const counters = newPushCounters();
  const skipped = new SkippedRecords(counters, steady, log);
  const connections = new Connections(workers?.names);
  const idempotency = new Idempotency();
  const ring = new ResumeRing(options.resume);
  const sendBuffers = new SendBuffers(options.sendBuffer, steady);
  const topics = new Topics();
  const singleUse = new SingleUse({ control: bus.control, node, newId, steady });
  const startingReads = new StartingReads(2);

  const presence = new Presence({
    control: bus.control,
    isReady: () => bus.state().ready && startingReads.areOver,
    process: bootTag,
    instance,
    node,
    newId,
    steady,
    sinks: eventSinks({ outbound, events, node, steady, log }),
    reservesConsoleNames,
    onNotices(notices) {
      for (const { type, channel, userId } of notices)
        topics.publish(channelTopic(channel, true), memberFrame(type, channel, userId));
    },
  });
  // The others must know of this instance before a rolling restart goes on to the next one.
  bus.onStateChange(({ ready }) => ready && presence.tick(steady.now()));
  const trace = new MessageTrace({
    maxMessages: options.traceMessages,
    connections,
    instancesOf: (userId) => presence.instancesOf(userId),
    pongTimeoutMs,
    steady,
    log,
  });
  const members = new ChannelMembers(presence, events !== null);
  const channels = new Channels(connections, reservesConsoleNames, (socket, channel, isMember, closeCode) => {
    members.changed(socket, channel, isMember);
    trace.membershipChanged(socket, channel, isMember, closeCode);
  });
  const hasOtherInstance = () => isCluster && presence.instanceCount > 1;
  const drain = new Drain(options.drain, { connections, hasOtherInstance, clock: steady, random });

  const catchUp = new CatchUp({ ring, sendBuffers, trace });
  const hub = new Hub({ topics, catchUp, connections, ring, sendBuffers, counters, trace, clock: steady });

  const verifySeconds = verifySecondsIn(metrics);
  const admission = new Admission(options.admission, {
    instance: workers?.limits ?? null,
    isRefusing: () => drain.isRefusing,
    hasReachedBus: () => startingReads.areOver,
    isAllowedOrigin: originCheck(options.allowedOrigins),
    connectRate: new ConnectRate(options.connectRate, steady),
    verifier: new CodeVerifier({
      ...parts.codes,
      singleUse,
      onJwtRefused: (refused) => trace.refusedTokens.add(refused),
      observe: (seconds, result) => verifySeconds.observe({ result }, seconds),
      clock: steady,
      onFault: oncePerSecond(steady, (count) => log.error({ count }, "codes could not be verified")),
    }),
    connections,
    counters,
    onFull: oncePerPeriod(fullLogMs, steady, (refused) =>
      log.warn({ refused, connections: connections.size }, fullText),
    ),
    clock: steady,
  });
  const expiry = new Expiry(options.expiry, { clock, steady });
  const newConnections = new NewConnections({
    ...options,
    newId: idGenerator(`c${bootTag}`),
    steady,
    expiry,
  });
  const refreshes = new Refreshes({ admission, channels, expiry, sendBuffers, wallTimeOf });

  const clientMessages = new ClientMessages(options.clientMessages, {
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
  const { heartbeatContent } = options.clientMessages;
  const askRefresh = (socket: Socket) => refreshes.ask(socket);
  const heartbeat = new Heartbeat(
    { pingIntervalMs, pongTimeoutMs, heartbeatContent, tickMs, askRefresh, random },
    steady.now(),
  );
  const sockets = new SocketEvents({
    admission,
    connections,
    channels,
    clientMessages,
    drain,
    heartbeat,
    catchUp,
    presence,
    ring,
    sendBuffers,
    trace,
    isReading: () => isReadingIn(bus.state()),
    counters,
    log,
    clock: steady,
    wallTimeOf,
    pingIntervalMs,
  });
  const streams = new OpenStreams({ topics, position: () => ring.position, sockets, process: bootTag });

  const reported = { node, isCluster, connections, sendBuffers, admission, drain, counters, wallTimeOf };
  const traced = { trace, connections, wallTimeOf };
  const control = new Control({
    workers,
    control: bus.control,
    isCluster,
    connections,
    channels,
    sendBuffers,
    node,
    process: bootTag,
    instance,
    questions: new ClusterQuestions(() => presence.processes),
    reportConnections: (userId) => answeredReport(reported, userId),
    receiveFrame: (stream, text) => streams.receiveHere(stream, text),
    reportMessages: (question) => tracedHere(traced, question),
    newId,
    presence: (offset, message) => presence.receive(offset, message),
    used: (record, message) => singleUse.receive(record, message),
    skipped,
    onCaughtUp() {
      presence.caughtUp();
      startingReads.oneIsOver();
    },
    onLost: () => presence.lost(),
  });
  const frames = new FrameRouting({ streams, control, process: bootTag });

  const publisher = new Publisher({
    broadcast: bus.broadcast,
    isCluster,
    hub,
    trace,
    idempotency,
    clock,
    steady,
    telemetry,
    log,
    node,
    newId,
    maxMessageBytes,
  });
  const broadcastReader = new BroadcastReader({
    hub,
    ring,
    connections,
    idempotency,
    trace,
    counters,
    rules: { maxMessageBytes, reservesConsoleNames, clock },
    steady,
    telemetry,
    skipped,
    onCaughtUp: () => startingReads.oneIsOver(),
    onAdvanced: () => sockets.resumeEarly(),
  });
  registerPushMetrics(metrics, { admission, counters, connections, presence, ring, sendBuffers, streams });
  events?.registerMetrics(metrics, () => presence.waitingEvents("uri"));
  bus.broadcast.read(Math.max(idempotency.windowMs, ring.maxAgeMs), broadcastReader);
  bus.control.read(Math.max(presenceWindowMs, singleUseWindowMs), control);

  let timer: ReturnType<typeof setInterval> | undefined;
  let tickedAtMs = 0;
  const tick = () => {
    const nowMs = steady.now();
    counters.loopLagMs = Math.max(counters.loopLagMs, nowMs - tickedAtMs - tickMs);
    tickedAtMs = nowMs;
    heartbeat.tick(nowMs);
    hub.tick();
    presence.tick(nowMs);
    sockets.resumeEarly();
    drain.tick(nowMs);
    ring.dropOld(nowMs);
    idempotency.dropOld(nowMs);
    singleUse.dropOld(nowMs);
  };

  return {
    node,
    isCluster,
    admission,
    clientMessages,
    connections,
    control,
    counters,
    drain,
    frames,
    newConnections,
    presence,
    publisher,
    ring,
    sendBuffers,
    skipped,
    sockets,
    streams,
    trace,
    wallTimeOf,
    /** Resolves when both logs were read to their end once. */
    caughtUp: startingReads.over,
    tick,
    start(fanout: CompressingFanout): void {
      topics.attach(options.sendBuffer.compresses ? compressed(fanout) : fanout);
      tickedAtMs = steady.now();
      timer = setInterval(tick, tickMs);
    },
    stop(): void {
      clearInterval(timer);
    },
  };
}
export type Gateway = ReturnType<typeof buildGateway>;

function isReadingIn({ ready, isReceiving }: BusState): boolean {
  return ready || isReceiving === true;
}
