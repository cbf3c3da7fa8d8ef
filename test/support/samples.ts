import { noApproval } from "../../src/model/approval/deploy-rule.ts";
import type { AuditEntry } from "../../src/model/audit.ts";
import type { NewDelivery } from "../../src/model/delivery.ts";
import { plainExecution } from "../../src/model/execution.ts";
import { completePipeline } from "../../src/model/pipeline.ts";
import type { Project } from "../../src/model/project.ts";
import type { Runner } from "../../src/model/runner.ts";
import type { RunningService } from "../../src/model/service/running-service.ts";
import type { NewTask, TaskStage } from "../../src/model/task.ts";
import { type WebhookConfig, webhookDefaults } from "../../src/model/webhook-config.ts";

export const sampleTime = new Date("2026-03-01T10:20:30.456Z");

export function sampleRunner(name: string, change: Partial<Runner> = {}) {
  const registered = { local: false, disabled: false, concurrency: 9, createdAt: sampleTime };
  return { ...registered, name, tokenHash: name, labels: [], ...change };
}

/** Whole models with every field set, for tests that change only what they are about. */
export function sampleProject(
  change: Partial<Project> = {},
): Omit<Project, "id" | "disk" | "liveTaskId" | "liveNote" | "homeRunnerId"> {
  return {
    ...plainExecution,
    needsContainer: false,
    name: `shop ${crypto.randomUUID()}`,
    groupId: null,
    git: { url: "https://git.example/shop.git", ref: "main", submodules: false },
    pipeline: completePipeline({
      build: [{ script: "make", timeout: 60 }],
      deploy: [{ script: "make deploy" }],
    }),
    env: { NODE_ENV: "production" },
    notify: [
      {
        id: "target",
        format: "slipway",
        url: "https://hooks.example/…task",
        events: ["task.failed"],
        logLines: 0,
        hasSecret: false,
      },
    ],
    commitStatus: { context: "slipway/shop", skipped: false },
    labels: [],
    supersede: "none",
    deploy: noApproval,
    diskMb: 2048,
    disk: null,
    pipelineFile: null,
    fileRead: null,
    environments: [],
    parentId: null,
    environment: null,
    rollback: "off",
    allowedDomains: null,
    rollbackWithin: 30,
    publicUrl: "https://shop.example",
    defaultNotify: true,
    sample: false,
    createdAt: sampleTime,
    ...change,
  };
}

export function sampleDelivery(change: Partial<NewDelivery> = {}): NewDelivery {
  return {
    project_id: 1,
    project_name: "shop",
    provider: "github",
    event: "push",
    ref: "main",
    ref_type: "branch",
    commit: "0123456789abcdef0123456789abcdef01234567",
    commit_message: "Sell more",
    author: "ann",
    status: "accepted",
    reason: "All filters passed.",
    task_id: 7,
    remote_ip: "192.0.2.7",
    body: '{"ref":"refs/heads/main"}',
    created_at: sampleTime,
    code: "accepted",
    http_status: 202,
    count: 1,
    host_delivery_id: "",
    replay_of: null,
    merged_into_task_id: null,
    former_project_id: null,
    headers: { "x-github-event": "push" },
    normalized: null,
    trace: [{ step: "events", result: "pass", value: "push", pattern: "push", detail: "" }],
    ...change,
  };
}

/** A stage whose only step is as it is. */
export function sampleStage(
  name: TaskStage["name"],
  change: Partial<Omit<TaskStage, "name" | "steps">> = {},
): TaskStage {
  const stage = { state: "pending", startedAt: null, finishedAt: null, exitCode: null, ...change } as const;
  return { name, ...stage, steps: [{ name, ...stage }] };
}

export function sampleService(change: Partial<RunningService> = {}): RunningService {
  return {
    projectId: 1,
    name: "web",
    runnerId: 7,
    taskId: 12,
    state: "serving",
    since: sampleTime,
    startedAt: sampleTime,
    restarts: 0,
    exits: [],
    lastExit: null,
    fault: "",
    lastLines: "",
    port: 20_001,
    routes: [],
    memoryBytes: 123_456_789_012,
    cpu: 0.25,
    reportedAt: sampleTime,
    sampledAt: sampleTime,
    isAway: false,
    downSince: null,
    recoveringSince: null,
    ...change,
  };
}

export function sampleTask(change: Partial<NewTask> = {}): NewTask {
  return {
    projectId: 1,
    triggerType: "webhook",
    triggeredBy: "ann",
    ref: "refs/heads/main",
    commit: "0123456789abcdef0123456789abcdef01234567",
    message: "Sell more",
    author: "ann",
    actions: null,
    stages: [sampleStage("build"), sampleStage("deploy")],
    causeRef: null,
    causeCommit: null,
    source: null,
    deliveryId: null,
    rerunOf: null,
    rollbackTo: null,
    priority: 0,
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    notBefore: null,
    createdAt: sampleTime,
    ...change,
  };
}

export function sampleWebhookConfig(change: Partial<WebhookConfig> & { projectId: number }): WebhookConfig {
  return {
    ...structuredClone(webhookDefaults),
    key: null,
    secret: null,
    secondSecret: null,
    secondSecretUntil: null,
    updatedAt: sampleTime,
    ...change,
  };
}

export const sampleAuditEntry: Omit<AuditEntry, "id"> = {
  at: sampleTime,
  userId: null,
  username: "ann",
  action: "test.change",
  projectId: null,
  groupId: null,
  subject: "a test",
  detail: {},
  remoteIp: "192.0.2.1",
};
