import { isCommit } from "../../model/git/git-ref.ts";
import { logStages, type StageName, stageNames } from "../../model/stage/stage-name.ts";
import { stageStates, taskStates } from "../../model/task.ts";
import { eventNames } from "../../model/webhook-config.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { isStageAsked } from "../../task/queue/enqueue.ts";
import { approvalShape } from "./approval-shape.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { id, time } from "./scalars.ts";
import { listOf, onlyGiven, strict, z } from "./shape.ts";

const stageName = z.enum(stageNames);
const isAsked = z.boolean().optional();

const actions = z.object({
  ...(Object.fromEntries(stageNames.map((name) => [name, isAsked])) as Record<StageName, typeof isAsked>),
  fromStage: stageName.nullable().optional(),
});

export const actionsShape = actions.nullable();

export const actionsBody = strict(actions.shape)
  .refine(leavesAStage, ruleText("no_stage"))
  .openapi("Actions", {
    description: "Missing booleans mean true; `fromStage` drops the stages before it.",
  });

function leavesAStage(asked: z.infer<typeof actions>): boolean {
  return stageNames.some((name) => isStageAsked(onlyGiven(asked), name));
}

export const wholeCommit = z
  .string()
  .refine(isCommit, ruleText("commit_hash"))
  .openapi({ example: "e9d71f5ee7c92d6dc9e92ffdad17b8bd49418f98" });

const taskStep = z.object({
  name: z.string().openapi({ example: "test" }),
  state: z.enum(stageStates),
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  exitCode: z.number().int().nullable(),
});

const taskStage = taskStep.extend({
  name: stageName,
  steps: z
    .array(taskStep)
    .openapi({ description: "Its steps with a script; empty in tasks of version 1.0." }),
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
    lane: z.enum(["deploy", "service"]).openapi({
      description:
        "`service`: an action with services, which is in no queue; it waits only for a running deploy or start of its project.",
    }),
    serviceAction: z
      .union([
        z.object({ type: z.enum(["start", "stop", "restart"]), services: z.array(z.string()) }),
        z.object({ type: z.literal("exec"), command: z.array(z.string()) }),
      ])
      .nullable()
      .openapi({ description: "What it does with the release that serves; null: it builds or deploys." }),
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
        stage: z.enum(logStages),
        step: z.string().nullable().openapi({ description: "The step that it belongs to; null: none." }),
        at: time,
        text: z.string(),
      }),
    ),
    next: z.number().int().openapi({ description: "The `from` of the next call." }),
    done: z.boolean().openapi({ description: "No more lines will come." }),
  })
  .openapi("TaskLog");
export type LogAnswer = z.infer<typeof logShape>;
