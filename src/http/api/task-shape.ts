import { isCommit } from "../../model/git/git-ref.ts";
import { serviceStates } from "../../model/service/service.ts";
import { logLine, taskRollback, taskSchema, taskStage, taskStep } from "../../model/task.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { approvalShape } from "./approval-shape.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { answered, id } from "./scalars.ts";
import { listOf, z } from "./shape.ts";

export const wholeCommit = z
  .string()
  .refine(isCommit, ruleText("commit_hash"))
  .openapi({ example: "e9d71f5ee7c92d6dc9e92ffdad17b8bd49418f98" });

export const taskState = taskSchema.shape.state;

export const waitingFields = {
  waitingParts: reasonPartsShape.optional(),
  waiting: z.string().optional().openapi({
    description: "Why no runner can take the queued task; absent otherwise.",
    example: "waiting: no runner has the labels gpu",
  }),
};

/** What the server alone needs, and what has another form in answers. */
const notAnswered = {
  priority: true,
  traceparent: true,
  leaseHash: true,
  leaseUntil: true,
  fetchingSince: true,
  deployingSince: true,
  deliveryId: true,
  approval: true,
  pipeline: true,
  targetRunnerId: true,
} as const;

const serves = [...serviceStates, "checked", "unchecked"] as const;
export type Serves = (typeof serves)[number];

/** The output of task/view/task-json.ts. */
export const taskShape = z
  .object({
    ...answered(taskSchema.omit(notAnswered)),
    projectName: z.string().optional().openapi({ description: "In lists and single tasks of the API." }),
    environment: z.string().optional().openapi({
      description: "Where it deploys; empty: the project has no environments. As `projectName`.",
    }),
    promotedFrom: z.string().optional().openapi({
      description: "The environment whose release it deploys; empty: it is no promotion. As `projectName`.",
    }),
    isServing: z.boolean().optional().openapi({
      description: "Whether it is the task whose commit serves, in lists and single tasks of the API.",
    }),
    serves: z
      .enum(serves)
      .nullable()
      .optional()
      .openapi({
        description:
          "In lists of the API, of the task whose commit was deployed last: the state of its services; without services, " +
          "whether a check passed at its deploy.",
      }),
    stages: z.array(
      z.object({
        ...answered(taskStage),
        steps: z
          .array(z.object(answered(taskStep)))
          .openapi({ description: "Its steps with a script; empty in tasks of version 1.0." }),
      }),
    ),
    reasonParts: reasonPartsShape,
    lane: z.enum(["deploy", "service"]).openapi({
      description:
        "`service`: an action with services, which is in no queue; it waits only for a running deploy or start of its project.",
    }),
    rollback: z
      .object(answered(taskRollback))
      .nullable()
      .openapi({ description: "How the previous release was brought back because this task failed." }),
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
    lines: z.array(z.object(answered(logLine))),
    next: z.number().int().openapi({ description: "The `from` of the next call." }),
    done: z.boolean().openapi({ description: "No more lines will come." }),
  })
  .openapi("TaskLog");
export type LogAnswer = z.infer<typeof logShape>;
