import { hostname } from "node:os";
import { buildConsoleAccess } from "../account/console-access.ts";
import { buildCredentials } from "../account/credential.ts";
import { consolePages } from "../http/console.ts";
import { type GatewayCalls, localGateway, noGateway, remoteGateway } from "../http/gateway-calls.ts";
import { GatewayHistory } from "../http/gateway-history.ts";
import { schemaPath } from "../model/pipeline-file/file-json-schema.ts";
import type { Store } from "../model/store.ts";
import { ownFolder } from "../own-command.ts";
import { buildPushCodes } from "../push/admission/own-codes.ts";
import type { OwnCodes } from "../push/admission/verification-order.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import { buildRetention } from "../retention.ts";
import { loadDataKey } from "../store/maintenance/data-key.ts";
import { buildLive, type PublishLive, silentLive } from "../task/events/console-messages.ts";
import { buildPushClient } from "../task/events/push-client.ts";
import { type Isolation, isolationOf } from "../task/isolation.ts";
import { buildApiPart } from "./api-part.ts";
import type { AppContext, Part } from "./app-context.ts";
import { buildBaseUrl } from "./base-url.ts";
import { buildLocalRunner } from "./local-runner.ts";
import { openWarnings } from "./open-endpoints.ts";
import type { PushPart } from "./push-part.ts";
import { buildSetUpPart } from "./set-up/set-up-part.ts";
import { buildTaskPart, gitUrlRulesOf } from "./task-part.ts";
import { buildWebhookPart } from "./webhook-part.ts";

export interface DeployPart extends Part {
  /** Verifies the codes that this service issued. */
  ownCodes: OwnCodes;
}

/**
 * The deploy service: webhook, tasks, management API and console. `push` is the gateway in the same process; null:
 * the deploy service runs alone, also without a local runner. The part closes the store when it is closed itself.
 */
export async function buildDeployPart(
  context: AppContext,
  push: PushPart | null,
  store: Store,
): Promise<DeployPart> {
  const { config, log, clock } = context;
  const { secrets, warnings: keyWarnings } = await loadDataKey(
    { dataDir: config["data.dir"], encryptionKey: config["data.encryptionKey"] },
    store,
  );
  const baseUrl = buildBaseUrl(config["server.baseUrl"], config["server.listen"]);
  const ownUrl = buildBaseUrl(undefined, config["server.listen"]);
  const localRunner = push && config["runner.enabled"] ? buildLocalRunner(context, store, secrets) : null;
  const credentials = buildCredentials(store, clock);
  const publish = publisherFor(config, push);
  const live = publish ? buildLive(publish, log, context.telemetry) : silentLive;
  const tasks = buildTaskPart(context, {
    store,
    secrets,
    credentials,
    live,
    publish,
    consoleUrl: () => baseUrl.current().url,
  });
  const webhook = buildWebhookPart(context, {
    store,
    secrets,
    gitUrlRules: gitUrlRulesOf(config),
    announcer: tasks.events,
    waitOf: tasks.waitOf,
    onDelivery: (delivery) => live.delivery(delivery),
    baseUrl: baseUrl.current,
    ownUrl: () => ownUrl.current().url,
  });
  const setUp = buildSetUpPart(context, {
    ...{ store, secrets, management: webhook.management, pollNow: webhook.pollNow },
  });
  const codes = buildPushCodes(store.pushCodes, clock);
  const operations = gatewayCallsOf(config, push);
  const history =
    operations === noGateway ? null : new GatewayHistory({ figures: operations.figures, store, log });
  const consoleAccess = buildConsoleAccess({ keepers: store, ...operations, log });
  const expiredSessions = buildRetention({
    what: "sessions and attempts",
    retentionDays: 0,
    async *batches(before) {
      yield await store.sessions.deleteExpired(before);
      yield await store.attempts.deleteEnded(before);
    },
    clock,
    log,
    cleaned() {},
  });
  const api = buildApiPart(context, {
    store,
    secrets,
    credentials,
    webhook,
    tasks,
    setUp,
    push: { codes, operations, consoleAccess, history },
    gateway: push,
    localRunnerEnd: () => localRunner?.lastEnd() ?? null,
    consoleUrl: () => baseUrl.current().url,
    // Those without data of their own: the address and the isolation of runners have some.
    warnings: [...(push?.warnings ?? []), ...keyWarnings, ...openWarnings(config, push ? "start" : "deploy")],
  });
  const facts = [
    `database: ${store.describe()}`,
    localRunner
      ? `runner: local, ${config["tasks.concurrency"]} tasks at the same time`
      : "runner: none on this machine; add one with `slipway runner`",
  ];
  const warnings: Reason[] = [...keyWarnings, ...baseUrlWarnings(config["server.baseUrl"])];
  return {
    ownCodes: codes.redeem,
    fetch: consolePages(ownFolder()),
    routes: {
      ...webhook.routes,
      ...tasks.routes,
      "/api/*": api.handle,
      "/docs": api.handle,
      [schemaPath]: api.handle,
    },
    async started(server) {
      for (const url of [baseUrl, ownUrl]) url.bound(server.port ?? 0);
      facts.push(...(await api.createFirstAdmin()));
      await webhook.start();
      setUp.start();
      expiredSessions.start();
      api.refresh.start();
      history?.start();
      await tasks.start();
      await localRunner?.start(ownUrl.current().url);
      warnings.push(...isolationWarnings(await isolationOf(store)));
    },
    missing: () => store.check().catch(() => "the database does not answer"),
    facts,
    warnings,
    async drain(signal) {
      tasks.drain();
      localRunner?.drain(signal);
    },
    release: () => tasks.release(),
    async close() {
      await history?.close();
      await api.refresh.close();
      await expiredSessions.close();
      await consoleAccess.close();
      await setUp.close();
      await webhook.close();
      await tasks.close();
      await store.close();
    },
  };
}

function isolationWarnings({ isExposed, notIsolated }: Isolation): Reason[] {
  if (!isExposed) return [];
  return [newReason("system_not_isolated", { runners: notIsolated.join(", ") })];
}

function baseUrlWarnings(baseUrl: string | undefined): Reason[] {
  if (baseUrl) return [];
  return [newReason("system_no_base_url")];
}

function publisherFor(config: AppContext["config"], push: PushPart | null): PublishLive | null {
  const url = config["deploy.push.url"];
  if (url) return buildPushClient({ url, apiKey: config["deploy.push.apiKey"] });
  if (!push) return null;
  return async (to, data, traceparent) => {
    await push.gateway.publisher.publish({ ...to, data, ...(traceparent === null ? {} : { traceparent }) });
  };
}

function gatewayCallsOf(config: AppContext["config"], push: PushPart | null): GatewayCalls {
  const url = config["deploy.push.url"];
  if (url) return remoteGateway({ url, apiKey: config["deploy.push.apiKey"] });
  const { port } = config["server.listen"];
  return push ? localGateway(push.gateway, `${hostname()}:${port}`) : noGateway;
}
