import { resolve } from "node:path";
import type { Credentials } from "../account/credential.ts";
import { runnerRoutes } from "../http/routes/runner-routes.ts";
import type { GitUrlRules } from "../model/git/git-url.ts";
import type { Store } from "../model/store.ts";
import { buildRetention } from "../retention.ts";
import type { Secrets } from "../secrets.ts";
import { buildApprovals } from "../task/approval/approvals.ts";
import type { Live, PublishLive } from "../task/events/console-messages.ts";
import { buildTaskEvents } from "../task/events/task-events.ts";
import { buildTaskMetrics } from "../task/events/task-metrics.ts";
import { buildWaitingNote } from "../task/events/waiting-note.ts";
import { buildWakeups } from "../task/events/wakeups.ts";
import { buildDispatch } from "../task/hand-out/dispatch.ts";
import { buildHeldCalls } from "../task/hand-out/held-calls.ts";
import { buildLeaseReaper } from "../task/hand-out/lease-reaper.ts";
import { buildManualTasks } from "../task/manual-tasks.ts";
import { buildAttemptRecord } from "../task/notify/attempt-record.ts";
import { sendGuarded } from "../task/notify/guarded-request.ts";
import { buildOutbox } from "../task/notify/outbox.ts";
import type { AttemptOptions } from "../task/notify/outgoing-attempt.ts";
import { buildOutgoingRequests } from "../task/notify/outgoing-request.ts";
import { isChannelAddress, publishToChannel } from "../task/notify/release-message.ts";
import { buildRunnerWatch } from "../task/notify/runner-watch.ts";
import { buildTestMessages } from "../task/notify/test-message.ts";
import { buildWatchedTime } from "../task/notify/watched-time.ts";
import { buildServiceActions } from "../task/service/service-actions.ts";
import { buildServiceReports } from "../task/service/service-reports.ts";
import { buildServiceWatch } from "../task/service/service-watch.ts";
import { buildWantedOutput } from "../task/service/wanted-output.ts";
import { expiredTasks } from "../task/task-retention.ts";
import { type TransferFiles, transferBucket, transferFolder } from "../task/transfer/transfer-files.ts";
import { buildTransfers } from "../task/transfer/transfers.ts";
import { buildWaitCache } from "../task/view/wait-cache.ts";
import type { AppContext } from "./app-context.ts";

export interface TaskPartOptions {
  store: Store;
  secrets: Secrets;
  credentials: Credentials;
  live: Live;
  /** Of the push gateway; null: there is none. */
  publish: PublishLive | null;
  /** Address of the console, for links. */
  consoleUrl: () => string;
}

const outgoingTimeoutMs = 10_000;
const closeWithinMs = 3000;

/** Tasks of the deploy service: queue, runner protocol, live events and notifications. */
export function buildTaskPart(
  { config, log, metrics, telemetry, clock }: AppContext,
  options: TaskPartOptions,
) {
  const { store, secrets, consoleUrl } = options;
  const limits = {
    leaseMs: config["tasks.lease"],
    timeoutMs: config["tasks.timeout"],
    stopGraceMs: config["tasks.stopGrace"],
    logMaxBytes: config["tasks.logMaxBytes"],
  };
  const wakeups = buildWakeups();
  const taskMetrics = buildTaskMetrics(metrics, store);
  const allowInternal = config["tasks.allowInternalNotifications"];
  const now = () => store.now();
  const attempt: AttemptOptions = {
    prepare: buildOutgoingRequests({
      projects: store.projects,
      meta: store.meta,
      secrets,
      clock,
      trusted: config["hosts.trusted"],
    }),
    // Messages to addresses that a manager chose are not part of the trust in a Git server.
    send: (request, kind) =>
      isChannelAddress(request.url)
        ? publishToChannel(options.publish, request)
        : sendGuarded(request, {
            ...{ allowInternal, timeoutMs: outgoingTimeoutMs },
            trusted: kind === "commit status" ? config["hosts.trusted"] : [],
          }),
  };
  const record = buildAttemptRecord({ attempts: store.outgoingAttempts, now, log });
  const outbox = buildOutbox({
    ...attempt,
    calls: store.outgoingCalls,
    now,
    log,
    telemetry,
    counted: taskMetrics.outgoing,
    record,
  });
  const watched = buildWatchedTime(clock.elapsed);
  const runnerWatch = buildRunnerWatch({ store, outbox, watched, consoleUrl, log });
  const waitOf = buildWaitCache(store);
  const events = buildTaskEvents({
    keepers: store,
    wakeups,
    live: options.live,
    outbox,
    metrics: taskMetrics,
    noteWaiting: buildWaitingNote({ store, waitOf, log }),
    consoleUrl,
    telemetry,
    log,
  });
  const gitUrlRules = gitUrlRulesOf(config);
  const anyDomain = config["routes.anyDomain"];
  const dispatch = buildDispatch({
    ...{ store, secrets, events, wakeups, limits, gitUrlRules, watched, anyDomain, log },
  });
  const approvals = buildApprovals({ store, events, log });
  const calls = buildHeldCalls({ store, events, wakeups, limits, clock, anyDomain });
  const services = buildServiceReports({ store, events });
  const transfers = buildTransfers({
    ...{ store, wakeups, log, files: transferFilesOf(config) },
    quotaBytes: config["transfers.quota"],
  });
  const outputs = buildWantedOutput({ store, wakeups, takeTransfers: transfers.take });
  const serviceWatch = buildServiceWatch({ store, events, watched, log });
  const reaper = buildLeaseReaper({ store, events, leaseMs: limits.leaseMs, clock, log });
  const retention = buildRetention({
    what: "tasks",
    retentionDays: config["tasks.retentionDays"],
    batches: (before) => expiredTasks(store.taskRetention, before),
    clock,
    log,
    cleaned: taskMetrics.cleaned,
  });
  return {
    routes: runnerRoutes({
      ...{ credentials: options.credentials, dispatch, calls, services, outputs, transfers, log },
      leaseMs: limits.leaseMs,
    }),
    manualTasks: buildManualTasks({ store, events, telemetry }),
    serviceActions: buildServiceActions({ store, events, telemetry }),
    outputs,
    events,
    approvals,
    waitOf,
    testMessages: buildTestMessages({ attempt, record, clock, consoleUrl }),
    async start(): Promise<void> {
      runnerWatch.start();
      serviceWatch.start();
      reaper.start();
      approvals.start();
      outbox.start();
      await transfers.start();
      if (config["tasks.retentionDays"] > 0) retention.start();
    },
    /** Hands out no more tasks; running tasks stay with their runners. */
    drain: () => dispatch.close(),
    /** Answers long-polling calls of runners. */
    release: () => {
      calls.release();
      outputs.close();
    },
    async close(): Promise<void> {
      dispatch.close();
      reaper.stop();
      approvals.stop();
      runnerWatch.stop();
      serviceWatch.stop();
      outputs.close();
      transfers.close();
      await retention.close();
      wakeups.close();
      await events.flushed();
      await outbox.close(closeWithinMs);
    },
  };
}
export type TaskPart = ReturnType<typeof buildTaskPart>;

/** Where releases are on their way between runners. */
function transferFilesOf(config: AppContext["config"]): TransferFiles {
  const bucket = config["transfers.s3.bucket"];
  if (bucket === "") return transferFolder(resolve(config["data.dir"], "transfers"));
  return transferBucket({
    bucket,
    endpoint: config["transfers.s3.endpoint"],
    region: config["transfers.s3.region"],
    accessKeyId: config["transfers.s3.accessKeyId"],
    secretAccessKey: config["transfers.s3.secretAccessKey"] ?? "",
    prefix: config["transfers.s3.prefix"],
  });
}

/** Which clone URLs a project may have. */
export function gitUrlRulesOf(config: AppContext["config"]): GitUrlRules {
  return {
    allowLocal: config["tasks.allowLocalRepositories"],
    samplesDir: resolve(config["data.dir"], "samples"),
    trusted: config["hosts.trusted"],
  };
}
