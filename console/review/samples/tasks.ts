import type { ActivityRow, Delivery, DeliverySummary, Task } from "../../shapes.ts";

const minuteMs = 60_000;

/** Relative to now, so that ages read as they do in the console. */
export function ago(minutes: number): string {
  return new Date(Date.now() - minutes * minuteMs).toISOString();
}

const commit = "e30d59e65699d861676d9f049fdac53b30225c3d";
const longMessage =
  "Remember the basket between visits, also for those who are not signed in and whose browser forgets everything";

type Stage = Task["stages"][number];

function stageOf(name: Stage["name"], state: Stage["state"], at: string | null = ago(3)): Stage {
  const times = { startedAt: at, finishedAt: at, exitCode: state === "failed" ? 1 : 0 };
  return { name, state, ...times, steps: [{ name, state, ...times }] };
}

export const task: Task = {
  id: 29,
  projectId: 1,
  state: "success",
  triggerType: "webhook",
  triggeredBy: "ann",
  ref: "refs/heads/main",
  commit,
  message: longMessage,
  author: "ann",
  actions: null,
  stages: [stageOf("build", "success"), stageOf("deploy", "success"), stageOf("start", "success")],
  reason: "",
  reasonParts: [],
  attempt: 1,
  runnerId: 1,
  rerunOf: null,
  supersededBy: null,
  rollbackTo: null,
  lane: "deploy",
  serviceAction: null,
  deploys: null,
  move: null,
  rollback: null,
  causeRef: null,
  causeCommit: null,
  source: null,
  approval: null,
  deliveryId: 12,
  notBefore: null,
  createdAt: ago(6),
  startedAt: ago(5),
  finishedAt: ago(3),
  waitedMs: 0,
  isServing: true,
  links: null,
};

export const failedTask: Task = {
  ...task,
  id: 30,
  state: "failed",
  stages: [stageOf("build", "failed"), stageOf("deploy", "skipped", null)],
  reason: "build failed with exit code 1",
  reasonParts: [{ code: "stage_failed", values: { stage: "build", exitCode: "1" } }],
  isServing: false,
};

export const waitingTask: Task = {
  ...task,
  id: 31,
  state: "waiting",
  stages: [stageOf("build", "success"), stageOf("deploy", "pending", null)],
  finishedAt: null,
  isServing: false,
};

const delivery: DeliverySummary = {
  id: 12,
  project_id: 1,
  project_name: "shop",
  provider: "github",
  event: "push",
  ref: "main",
  ref_type: "branch",
  commit,
  commit_message: longMessage,
  author: "ann",
  status: "accepted",
  reason: "All filters passed.",
  task_id: 29,
  remote_ip: "192.0.2.7",
  created_at: ago(6),
  code: "accepted",
  http_status: 202,
  count: 1,
  host_delivery_id: "9b798991-941f-428e-bad6-7269debdd9b1",
  repeat_of: null,
  replay_of: null,
  merged_into_task_id: null,
  former_project_id: null,
  replaced_by: null,
  environment: "",
  reason_parts: [{ code: "all_passed", values: {} }],
};

type RowTask = NonNullable<ActivityRow["task"]>;

function rowOf(id: number, state: RowTask["state"], change: Partial<RowTask> = {}): ActivityRow {
  const isFinished = !["queued", "running", "waiting"].includes(state);
  return {
    at: ago(6),
    outcome: state,
    delivery: { ...delivery, id, commit_message: change.message ?? longMessage },
    task: {
      ...task,
      projectName: "shop",
      isServing: false,
      id,
      state,
      finishedAt: isFinished ? ago(3) : null,
      ...change,
    },
    isBuilt: true,
  };
}

function stoppedRow(change: Partial<DeliverySummary> & Pick<DeliverySummary, "id" | "status">): ActivityRow {
  return {
    at: ago(9),
    outcome: change.status,
    delivery: { ...delivery, ...change },
    task: null,
    isBuilt: false,
  };
}

/** One row for each way in which a change ends or goes on. */
export const rows: ActivityRow[] = [
  rowOf(40, "success", { isServing: true }),
  rowOf(41, "failed", { reason: failedTask.reason, reasonParts: failedTask.reasonParts }),
  rowOf(42, "running", { message: "Fix the tax of orders" }),
  rowOf(43, "waiting", { message: "Charge in two steps" }),
  rowOf(44, "queued", {
    startedAt: null,
    waiting: "No runner that may take it is connected.",
    waitingParts: [],
  }),
  rowOf(45, "canceled", { rollbackTo: 20 }),
  rowOf(46, "timeout"),
  rowOf(47, "lost"),
  stoppedRow({
    id: 48,
    status: "ignored",
    ref: "try-new-cart",
    code: "branch_not_matched",
    reason: "The branch try-new-cart matches none of main, release/**.",
    reason_parts: [
      { code: "branch_not_matched", values: { ref: "try-new-cart", patterns: "main, release/**" } },
    ],
    replay_of: 40,
  }),
  stoppedRow({ id: 49, status: "rejected", code: "signature_invalid", reason: "The signature is wrong." }),
];

const steps = ["pass", "stop", "unknown", "skipped"] as const;

/** One step with each result. */
export const trace: Delivery["trace"] = steps.map((result, index) => ({
  step: ["enabled", "ref", "path", "keyword"][index] ?? "enabled",
  result,
  value: ["", "try-new-cart", "src/cart.ts", ""][index] ?? "",
  pattern: ["", "main, release/**", "docs/**", ""][index] ?? "",
  detail:
    ["The webhook is enabled.", "No branch pattern matches.", "The host names no paths.", ""][index] ?? "",
  detailParts: [],
}));
