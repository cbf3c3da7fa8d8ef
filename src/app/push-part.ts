import type { BrokerBus } from "../bus/broker-bus.ts";
import { registerLogMetrics } from "../bus/bus-metrics.ts";
import { steadyClock, systemClock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { GatewayKeys } from "../config/gateway-keys.ts";
import { clientAddressOf, networksOf } from "../http/client-address.ts";
import { ApiKeys, type ConsoleRules, callerRules, feignCredentials } from "../http/feign/feign-callers.ts";
import type { InstanceReports } from "../http/feign/feign-routes.ts";
import { buildKeylessCalls } from "../http/keyless-calls.ts";
import { type PushRouteOptions, pushRoutes, pushSocketHandler } from "../http/routes/push-routes.ts";
import type { Logger } from "../logger.ts";
import type { OwnCodes } from "../push/admission/verification-order.ts";
import { EventsByHttp } from "../push/events/events-by-http.ts";
import { buildGateway, type Gateway } from "../push/gateway.ts";
import type { GatewayOptions } from "../push/gateway-options.ts";
import { newReason, type Reason, renderReason } from "../reason/reason.ts";
import { randomToken } from "../secrets.ts";
import { openUnacknowledgedLimit } from "../system/unacknowledged-limit.ts";
import { workerShare } from "../workers/worker/worker-share.ts";
import type { AppContext, Part } from "./app-context.ts";
import { openBuses } from "./buses.ts";
import { checkCodeSources, codeSources, namesOf } from "./codes/code-sources.ts";
import { keylessOptionsOf } from "./open-endpoints.ts";
import { socketLimit } from "./system/open-file-limit.ts";
import { workerReports } from "./worker-reports.ts";

export interface PushPart extends Part {
  gateway: Gateway;
  /** The bus that goes through a broker; null: there is none. */
  queue: Pick<BrokerBus, "name" | "state" | "warnings"> | null;
  /** Of this instance: push.max-connections, or what the open-file limits allow. */
  maxConnections: number;
  /** Replaces the keys of callers and of JWTs; all of them stay as they are if it rejects. */
  replaceKeys(keys: GatewayKeys): Promise<void>;
}

const maxVerifications = 1000;
const vanishedLate = newReason("system_vanished_late");

/** The push gateway: bus, hub, admission and routes. `ownCodes` is null without a deploy service in this process. */
export async function buildPushPart(context: AppContext, ownCodes: OwnCodes | null): Promise<PushPart> {
  const { config, log, metrics, telemetry, clock, worker } = context;
  if (!ownCodes) checkCodeSources(config);
  const { codes, replaceKeys } = await codeSources(context, ownCodes);
  const apiKeys = new ApiKeys(config["push.api-keys"]);
  const steady = clock === systemClock ? steadyClock : clock;
  const { bus, outbound, node } = await openBuses(context, steady);
  registerLogMetrics(metrics, bus);
  const opened = new Set(outbound ? [bus, outbound] : [bus]);
  const maxConnections = instanceMaxConnections(config, worker?.workers ?? 1);
  const events = eventStreamsOf(context);
  const gateway = buildGateway(
    {
      ...gatewayOptions(config, Math.min(maxConnections, socketLimit()), ownCodes === null),
      node,
      bootTag: randomToken(6, "hex"),
    },
    {
      bus,
      outbound,
      events,
      workers: worker ? workerShare(worker.link, worker) : null,
      queuesClientMessages: config["push.queue-client-messages"],
      codes,
      clock,
      steady,
      random: Math.random,
      metrics,
      telemetry,
      log,
    },
  );
  const limitUnacknowledged = await openUnacknowledgedLimit().catch(() => null);
  const console = consoleRulesOf(config, ownCodes === null);
  const instance = worker ? workerReports(worker, maxConnections) : null;
  const routeOptions = routeOptionsOf(config, log, apiKeys, console, instance);
  return {
    gateway,
    queue: outbound,
    maxConnections,
    async replaceKeys(keys) {
      await replaceKeys(keys);
      apiKeys.replace(keys["push.api-keys"]);
    },
    routes: pushRoutes(gateway, routeOptions),
    websocket: pushSocketHandler(gateway, routeOptions) as never,
    async prepare() {
      // A cluster is reached later: until then the server listens and refuses connections.
      if (bus.isCluster) return;
      bus.start();
      await gateway.caughtUp;
    },
    started(server) {
      // An event stream has no pongs: only the system knows whether its client is still there.
      if (limitUnacknowledged && !limitUnacknowledged(server.port ?? 0, config["push.pong-timeout"]))
        log.warn(renderReason(vanishedLate));
      gateway.start(server);
      for (const one of opened) if (one !== bus || bus.isCluster) one.start();
    },
    async missing() {
      if (gateway.drain.isDraining) return "draining";
      const state = bus.state();
      const problem = state.ready ? gateway.skipped.problem : state.detail;
      return problem === null ? null : `queue: ${problem}`;
    },
    facts: [`push: codes verified by ${namesOf(codes)}, bus ${bus.name}`],
    warnings: [
      ...warningsOf(config, maxConnections, console),
      ...workerWarnings(config, ownCodes !== null),
      ...(limitUnacknowledged ? [] : [vanishedLate]),
    ],
    async drain() {
      await gateway.drain.start();
      await worker?.link.drained();
      gateway.clientMessages.endListening();
    },
    async close() {
      gateway.stop();
      await Promise.all([gateway.presence.leave(), events?.messages.close()]);
      await Promise.all([...opened].map((one) => one.close()));
    },
  };
}

/** push.max-connections, or what the open-file limits of all workers allow. */
export function instanceMaxConnections(config: Config, workers: number): number {
  return Math.min(config["push.max-connections"], workers * socketLimit());
}

function eventStreamsOf({ config, clock, log }: AppContext): EventsByHttp | null {
  const uri = config["push.events-uri"];
  if (uri === undefined) return null;
  return new EventsByHttp({ uri, secret: config["push.events-secret"] ?? null, clock, log });
}

function gatewayOptions(
  config: Config,
  maxConnections: number,
  isAlone: boolean,
): Omit<GatewayOptions, "node" | "bootTag"> {
  return {
    admission: {
      maxConnections,
      maxConnectionsPerUser: config["push.max-connections-per-user"],
      maxVerifications,
    },
    connectRate: config["push.connect-rate"],
    maxMessageBytes: config["push.max-message-bytes"],
    allowedOrigins: config["push.allowed-origins"],
    publicChannels: config["push.public-channels"],
    reservesConsoleNames: config["push.reserve-console-names"],
    tempMaxLifetimeMs: config["push.temp-max-lifetime"],
    expiry: {
      expiresWithCode: config["push.expire-with-code"],
      maxLifetimeMs: config["push.max-lifetime"],
    },
    pingIntervalMs: config["push.ping-interval"],
    pongTimeoutMs: config["push.pong-timeout"],
    clientMessages: {
      acceptClientMessage: config["push.accept-client-message"],
      clientMessageRate: config["push.client-message-rate"],
      heartbeatContent: config["push.heartbeat-content"],
    },
    sendBuffer: {
      compresses: config["push.compression"],
      maxMessageBytes: config["push.max-message-bytes"],
      sendBufferBytes: config["push.send-buffer-bytes"],
      sendBufferTotalBytes: config["push.send-buffer-total"],
      slowConsumerTimeoutMs: config["push.slow-consumer-timeout"],
    },
    resume: {
      maxBytes: config["push.resume.bytes"],
      maxAgeMs: config["push.resume.age"],
    },
    traceMessages: config["push.trace-messages"],
    drain: {
      drainDelayMs: config["push.drain-delay"],
      drainPeriodMs: config["push.drain-period"],
      delaysWhenEmpty: isAlone,
    },
  };
}

function consoleRulesOf(config: Config, isAlone: boolean): ConsoleRules {
  const deployKey = config["push.deploy-key"];
  return {
    deployKey,
    trustsHeader: isAlone && deployKey === undefined,
    reservesConsoleNames: config["push.reserve-console-names"],
  };
}

function routeOptionsOf(
  config: Config,
  log: Logger,
  apiKeys: ApiKeys,
  console: ConsoleRules,
  instance: InstanceReports | null,
): PushRouteOptions {
  const trustedProxies = networksOf(config["server.trustedProxies"]);
  return {
    handshake: {
      log,
      rejectMode: config["push.reject-mode"],
      clientAddressOf: (request, server) =>
        clientAddressOf(request.headers, server.requestIP(request)?.address ?? "", trustedProxies),
    },
    feign: {
      callers: callerRules(
        feignCredentials(apiKeys, buildKeylessCalls(keylessOptionsOf(config), "push.api-keys")),
        console,
      ),
      maxMessageBytes: config["push.max-message-bytes"],
      instance,
      log,
    },
    clientMaxMessageBytes: config["push.client-max-message-bytes"],
    compresses: config["push.compression"],
  };
}

function workerWarnings(config: Config, isWithDeploy: boolean): Reason[] {
  if (!isWithDeploy || config["push.workers"] === 1) return [];
  return [newReason("system_workers")];
}

function warningsOf(config: Config, maxConnections: number, console: ConsoleRules): Reason[] {
  const warnings: Reason[] = [];
  if (maxConnections < config["push.max-connections"])
    warnings.push(newReason("system_connections", { limit: maxConnections }));
  if (console.trustsHeader && console.reservesConsoleNames) warnings.push(newReason("system_deploy_key"));
  return warnings;
}
