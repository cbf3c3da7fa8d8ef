import { meShape } from "./auth.ts";
import { countsShape } from "./delivery-shape.ts";
import { noticesShape } from "./notices.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { id, ownPermission, time } from "./scalars.ts";
import { z } from "./shape.ts";
import { taskState, waitingFields } from "./task-shape.ts";

const count = z.number().int();

const periodShape = z
  .object({
    runs: count,
    succeeded: count,
    medianMs: count.nullable().openapi({ description: "Of the runs that succeeded; null: none did." }),
  })
  .nullable()
  .openapi({ description: "Null: no run finished in this time. Canceled runs do not count." });

/** A task in a row: what a person has to know before opening it. */
const briefTask = {
  taskId: id,
  ref: z.string(),
  commit: z.string().nullable(),
  message: z.string().openapi({ description: "The first line." }),
  author: z.string(),
  by: z.string().openapi({ description: "The user or pusher that started it." }),
};

const rowShape = z.object({
  projectId: id,
  name: z.string(),
  ref: z.string().openapi({ description: "The branch or tag that it builds." }),
  sample: z.boolean(),
  permission: ownPermission,
  isBroken: z.boolean().openapi({ description: "The last run that was not canceled failed." }),
  live: z
    .object({ ...briefTask, since: time.nullable() })
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
      since: time.openapi({ description: "The start of the stage, of the task, or its creation." }),
      ...waitingFields,
    })
    .nullable()
    .openapi({ description: "The task that runs, waits for an approval, or is queued." }),
  approvals: count.openapi({ description: "Tasks that wait for an approval." }),
  runs: z
    .array(
      z.object({
        id,
        state: taskState,
        at: time,
        ms: count.nullable().openapi({ description: "How long it ran." }),
        nothingRan: z.boolean().optional(),
      }),
    )
    .openapi({ description: "The last 20, oldest first." }),
  last30Days: periodShape,
  previous30Days: periodShape,
});

const pointShape = z.object({ at: time, connections: count, messages: count });

export const overviewShape = z
  .object({
    me: meShape.openapi({
      description: "The caller, so that the first page of the console needs one request.",
    }),
    counts: z.object({ projects: count, broken: count, active: count }),
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
    gateway: z
      .object({
        at: time.openapi({ description: "The end of both series." }),
        connections: count
          .nullable()
          .openapi({ description: "In this minute. Null: no gateway has answered since the minute before." }),
        gateways: count.openapi({
          description:
            "How many gateways have answered since the minute before. Their connections are added.",
        }),
        hour: z.array(pointShape),
        day: z.array(pointShape),
      })
      .nullable()
      .openapi({
        description:
          "Connections and messages of the push gateway: the last hour by minutes, the last day by quarters of an hour, over all gateways whose servers use this database. A step without figures is left out: no server ran, or the gateway did not answer. Null for callers who are not admins.",
      }),
    notices: noticesShape,
  })
  .openapi("Overview");
