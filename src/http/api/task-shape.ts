import { isCommit } from "../../model/git/git-ref.ts";
import { taskStates } from "../../model/task.ts";
import { eventNames } from "../../model/webhook-config.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { approvalShape } from "./approval-shape.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { id, time } from "./scalars.ts";
import { listOf, strict, z } from "./shape.ts";

const stageName = z.enum(["build", "deploy", "start"]);

const actions = {
  build: z.boolean().optional(),
  deploy: z.boolean().optional(),
  start: z.boolean().optional(),
  fromStage: stageName.nullable().optional(),
};

export const actionsShape = z.object(actions).nullable();

export const actionsBody = strict(actions).refine(leavesAStage, ruleText("no_stage")).openapi("Actions", {
  description: "Missing booleans mean true; `fromStage` drops the stages before it.",
});

function leavesAStage(asked: NonNullable<z.infer<typeof actionsShape>>): boolean {
  const stages = stageName.options;
  const from = asked.fromStage ? stages.indexOf(asked.fromStage) : 0;
  return stages.some((stage, index) => index >= from && asked[stage] !== false);
}

export const wholeCommit = z
  .string()
  .refine(isCommit, ruleText("commit_hash"))
  .openapi({ example: "e9d71f5ee7c92d6dc9e92ffdad17b8bd49418f98" });

const taskStage = z.object({
  name: stageName,
  state: z.enum(["pending", "running", "success", "failed", "skipped", "canceled", "timeout", "lost"]),
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  exitCode: z.number().int().nullable(),
});

export const taskState = z.enum(taskStates);

export const waitingFields = {
  waitingParts: reasonPartsShape.optional(),
  waiting: z.string().optional().openapi({
    description: "Why no runner can take the queued task; absent otherwise.",
    example: "waiting: no runner has the labels gpu",
  }),
};

/** The output of task/queue/task-json.ts. */
export const taskShape = z
  .object({
    id,
    projectId: id,
    projectName: z.string().optional().openapi({ description: "In lists and single tasks of the API." }),
    isServing: z.boolean().optional().openapi({
      description: "Whether it is the task whose commit serves, in lists and single tasks of the API.",
    }),
    state: taskState,
    triggerType: z.enum(["webhook", "manual"]),
    triggeredBy: z.string(),
    ref: z.string().openapi({ example: "refs/heads/main" }),
    commit: z.string().nullable().openapi({ description: "After checkout: the commit that ran." }),
    message: z.string(),
    author: z.string(),
    actions: actionsShape,
    stages: z.array(taskStage),
    reason: z.string().openapi({ description: "Why it ended as it did, for people." }),
    reasonParts: reasonPartsShape,
    attempt: z.number().int(),
    runnerId: id.nullable(),
    rerunOf: id.nullable(),
    supersededBy: id.nullable(),
    rollbackTo: id.nullable().openapi({ description: "The task whose release this one brings back." }),
    rollback: z
      .object({
        taskId: id,
        commit: z.string(),
        state: z.enum(["running", "success", "failed", "unneeded"]),
        reason: z.string(),
        isProven: z.boolean().optional().openapi({
          description: "False: no health check and no process of the release shows that it serves.",
        }),
      })
      .nullable()
      .openapi({ description: "How the previous release was brought back because this task failed." }),
    causeRef: z.string().nullable(),
    causeCommit: z.string().nullable(),
    source: z
      .object({
        event: z.enum(eventNames),
        announcedBy: z.enum(["push", "create", "merge", "request"]),
        pusher: z.string().openapi({ description: "The account that pushed; empty: not known." }),
        sentBy: z
          .array(z.string())
          .optional()
          .openapi({ description: "Users who sent the delivery by hand, as a test or a replay." }),
        mergeRequest: z.string().openapi({ description: "Its number; empty: none, or not known." }),
        targetBranch: z.string(),
        fromFork: z.boolean(),
        tagObject: z.string().optional().openapi({ description: "The object of an annotated tag." }),
      })
      .nullable()
      .openapi({ description: "The delivery that asked for it; null: none did." }),
    approval: approvalShape,
    queuePosition: z.number().int().optional().openapi({ description: "While it is queued." }),
    ...waitingFields,
    deliveryId: id.optional(),
    links: z
      .object({
        commit: z.string().nullable(),
        ref: z.string().nullable(),
        mergeRequest: z.string().nullable(),
        compare: z
          .string()
          .nullable()
          .openapi({ description: "What changed between the commit that is serving and this one." }),
      })
      .nullable()
      .optional()
      .openapi({ description: "Pages of the Git host, for one task; null: the host is not known." }),
    notBefore: time.nullable(),
    createdAt: time,
    startedAt: time.nullable(),
    finishedAt: time.nullable(),
    waitedMs: z.number().int().openapi({
      description:
        "Time between `startedAt` and `finishedAt` in which it waited for approvals: not part of its duration. Without a wait that is not over.",
    }),
  })
  .openapi("Task");

export type TaskAnswer = z.infer<typeof taskShape>;
export const taskList = listOf(taskShape, "TaskList");

export const logShape = z
  .object({
    lines: z.array(
      z.object({
        index: z.number().int(),
        stage: z.enum(["system", "checkout", "build", "deploy", "start"]),
        at: time,
        text: z.string(),
      }),
    ),
    next: z.number().int().openapi({ description: "The `from` of the next call." }),
    done: z.boolean().openapi({ description: "No more lines will come." }),
  })
  .openapi("TaskLog");
export type LogAnswer = z.infer<typeof logShape>;
