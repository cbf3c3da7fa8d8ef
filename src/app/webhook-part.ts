import { resolve } from "node:path";
import { messageOf } from "../errors.ts";
import { networksOf } from "../http/client-address.ts";
import { bodyTimeoutMs, hookRoutes } from "../http/routes/hook-route.ts";
import type { DeliverySummary } from "../model/delivery.ts";
import type { GitUrlRules } from "../model/git/git-url.ts";
import type { Store } from "../model/store.ts";
import { buildRetention } from "../retention.ts";
import { buildSamples } from "../sample/sample.ts";
import type { Secrets } from "../secrets.ts";
import type { TaskAnnouncer } from "../task/events/task-announcer.ts";
import type { WaitOf } from "../task/view/wait-cache.ts";
import { version } from "../version.ts";
import { buildDecider, lockWaitMs } from "../webhook/decide/decider.ts";
import { buildWebhookMetrics } from "../webhook/decide/webhook-metrics.ts";
import { expiredDeliveries } from "../webhook/expired-deliveries.ts";
import { buildHooks } from "../webhook/hook/hooks.ts";
import { buildWebhookManagement } from "../webhook/management.ts";
import { buildPoller } from "../webhook/poll/poller.ts";
import { buildAskedPaths } from "../webhook/receive/asked-paths.ts";
import { buildReceiver } from "../webhook/receive/receiver.ts";
import { buildReplays } from "../webhook/replay.ts";
import { buildTestDeliveries } from "../webhook/test-delivery.ts";
import type { AppContext } from "./app-context.ts";
import { runnerFolders } from "./runner-folder.ts";

export interface WebhookPartOptions {
  store: Store;
  secrets: Secrets;
  gitUrlRules: GitUrlRules;
  announcer: TaskAnnouncer;
  waitOf: WaitOf;
  /** For the live console. */
  onDelivery: (summary: DeliverySummary) => void;
  baseUrl: () => { url: string; isConfigured: boolean };
  /** Where this server answers on this machine. */
  ownUrl: () => string;
}

/** The webhook of the deploy service: the delivery endpoint and its management. */
export function buildWebhookPart(
  { config, log, metrics, telemetry, clock }: AppContext,
  options: WebhookPartOptions,
) {
  const { store, secrets, announcer, waitOf, onDelivery, baseUrl } = options;
  const debounceSeconds = config["webhook.debounceSeconds"];
  const maxBodyKB = config["webhook.maxBodyKB"];
  const limitPerMinute = config["webhook.limitPerMinute"];
  const counters = buildWebhookMetrics(metrics);
  const hooks = buildHooks({ store, secrets });
  const decider = buildDecider({
    store,
    clock,
    log,
    metrics: counters,
    telemetry,
    lockWaitMs,
    limitPerMinute,
    debounceSeconds,
    keepsTips: config["webhook.reconcileMinutes"] > 0,
    announcer,
    waitOf,
    onDelivery,
  });
  const runner = runnerFolders(config);
  const remotes = {
    store,
    secrets,
    gitUrlRules: options.gitUrlRules,
    allowInternal: config["tasks.allowInternalNotifications"],
    temp: resolve(config["data.dir"], "poll"),
    knownHosts: runner.knownHosts,
    env: process.env,
  };
  const poller = buildPoller({
    ...remotes,
    hooks,
    decider,
    version,
    everyMinutes: config["webhook.reconcileMinutes"],
    log,
    lockWaitMs,
  });
  const receiver = buildReceiver({
    store,
    hooks,
    decider,
    clock,
    telemetry,
    askedPaths: buildAskedPaths(remotes),
    limitPerMinute,
    maxBodyKB,
    onFloodWriteFailed: (error) =>
      log.error({ error: messageOf(error) }, "refused deliveries could not be counted"),
  });
  const retention = buildRetention({
    what: "deliveries",
    retentionDays: config["webhook.deliveryRetentionDays"],
    batches: (before) => expiredDeliveries(store.deliveries, before),
    clock,
    log,
    cleaned: counters.cleaned,
  });
  const management = buildWebhookManagement({ store, secrets, clock, debounceSeconds, baseUrl });
  return {
    routes: hookRoutes({
      receiver,
      maxBodyKB,
      bodyTimeoutMs,
      trustedProxies: networksOf(config["server.trustedProxies"]),
    }),
    management,
    tests: buildTestDeliveries(decider, hooks),
    replays: buildReplays({ store, decider, hooks, clock }),
    samples: buildSamples({
      store,
      management,
      secrets,
      clock,
      samplesDir: resolve(config["data.dir"], "samples"),
      runnerDirs: [runner.root, ...(runner.former === null ? [] : [runner.former])],
      ownUrl: options.ownUrl,
      fetch,
    }),
    pollStateOf: poller.stateOf,
    pollNow: poller.pollNow,
    /** Starts the deletion of old records and the polls. */
    async start(): Promise<void> {
      retention.start();
      await poller.start();
    },
    /** Resolves when no deletion is in progress. */
    cleaned: () => retention.settled(),
    async close(): Promise<void> {
      await poller.close();
      await retention.close();
      await receiver.close();
    },
  };
}
export type WebhookPart = ReturnType<typeof buildWebhookPart>;
