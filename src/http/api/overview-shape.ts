import { projectCounts, runFigures } from "../../model/console/overview.ts";
import { meShape } from "./auth.ts";
import { countsShape } from "./delivery-shape.ts";
import { noticesShape } from "./notices.ts";
import { seriesShape } from "./push-shape.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { id, ownPermission, time } from "./scalars.ts";
import { z } from "./shape.ts";
import { taskState, waitingFields } from "./task-shape.ts";

const count = z.number().int();

const periodShape = runFigures
  .nullable()
  .openapi({ description: "Null: no run finished in this time. Canceled runs do not count." });

/** A task in a row: what a person has to know before opening it. */
export const briefTask = {
  taskId: id,
  ref: z.string(),
  commit: z.string().nullable(),
  message: z.string().openapi({ description: "The first line." }),
  author: z.string(),
  by: z.string().openapi({ description: "The user or pusher that started it." }),
};

/** Of a project in a row: what it is, what serves, and what it does now. */
export const rowFields = {
  projectId: id,
  name: z.string(),
  ref: z.string().openapi({ description: "The branch or tag that it builds." }),
  sample: z.boolean(),
  permission: ownPermission,
  isBroken: z.boolean().openapi({ description: "The last run that was not canceled failed." }),
  live: z
    .object({
      ...briefTask,
      since: time.nullable(),
      isChecked: z
        .boolean()
        .openapi({ description: "Whether services or a check would show that it does not work." }),
    })
    .nullable()
    .openapi({ description: "What is serving; null: nothing is known to." }),
  liveNote: z.string(),
  liveNoteParts: reasonPartsShape,
  current: z
    .object({
      ...briefTask,
      state: taskState,
      stage: z
        .string()
        .nullable()
        .openapi({ description: "The stage that runs, with its step: `build/test`." }),
      since: time.meta({ description: "The start of the stage, of the task, or its creation." }),
      ...waitingFields,
    })
    .nullable()
    .openapi({ description: "The task that runs, waits for an approval, or is queued." }),
};

const rowShape = z.object({
  ...rowFields,
  approvals: count.openapi({ description: "Tasks that wait for an approval." }),
  runs: z
    .array(
      z.object({
        id,
        state: taskState,
        at: time.meta({ description: "When it ended; until then, when it was created." }),
        ms: count.nullable().openapi({ description: "How long it ran." }),
        nothingRan: z.boolean().optional(),
      }),
    )
    .openapi({ description: "The last 20, oldest first." }),
  last30Days: periodShape,
  previous30Days: periodShape,
});

export const overviewShape = z
  .object({
    me: meShape.openapi({
      description: "The caller, so that the first page of the console needs one request.",
    }),
    counts: projectCounts,
    mayAddProject: z.boolean().openapi({ description: "The caller is an admin or manages a group." }),
    projects: z.object({
      items: z.array(rowShape),
      total: count,
      folded: count.openapi({ description: "Projects that never ran and were left out because of `fold`." }),
      page: count,
      pageSize: count,
    }),
    deploys: z
      .array(
        z.object({
          ...briefTask,
          projectId: id,
          projectName: z.string(),
          state: taskState,
          at: time,
          ms: count.nullable(),
        }),
      )
      .openapi({
        description:
          "The last deploys of all projects that succeeded, failed, timed out or were lost, newest first.",
      }),
    deliveries: countsShape.openapi({ description: "Deliveries by outcome in the last day." }),
    gateway: seriesShape.nullable().openapi({ description: "Null for callers who are not admins." }),
    notices: noticesShape,
  })
  .openapi("Overview");
