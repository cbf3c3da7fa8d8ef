import { type ActivityPlace, activityKinds, activityOutcomes } from "../../model/console/activity.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { callerOf } from "./context.ts";
import { codeShape, deliveryFilter, summaryJson, summaryShape } from "./delivery-shape.ts";
import type { ApiDeps } from "./deps.ts";
import { newApi, routesOf } from "./route.ts";
import { maxId, queryId, queryTime, text, time } from "./scalars.ts";
import { json, onlyGiven, pageQuery, z } from "./shape.ts";
import { taskShape } from "./task-shape.ts";
import { listedTasks } from "./written-tasks.ts";

const route = routesOf("activity");
const outcome = z.enum(activityOutcomes);
const placePattern = /^(\d{1,15})-(delivery|task)-(\d{1,15})$/;

const rowShape = z
  .object({
    at: time.meta({ description: "When the delivery arrived; of a task without one, when it was created." }),
    outcome: outcome.openapi({
      description:
        "How far it got: the state of the task that builds it; `merged` if the task builds another delivery; else the delivery's status.",
    }),
    delivery: summaryShape.nullable().openapi({
      description: "Null: a person or the server started the task, or its delivery was deleted.",
    }),
    task: taskShape.nullable().openapi({
      description:
        "The task that the delivery started or was merged into; null: it led to none, or the task was deleted.",
    }),
    isBuilt: z.boolean().openapi({
      description:
        "Whether the task builds the commit of this delivery. False: the delivery was merged into the task of another one.",
    }),
  })
  .openapi("Activity");

const listActivity = route("get", "/activity", {
  summary: "Deliveries and tasks as one list",
  description:
    "Newest first, of the projects that the caller may view. A delivery and the task that it led to are one row. Deliveries at no project, such as hits on unknown keys, are for admins only.",
  access: "signed-in",
  query: {
    pageSize: pageQuery.pageSize,
    after: z.string().regex(placePattern, ruleText("next_invalid")).optional().openapi({
      description: "The `next` of the page before.",
      example: "1767225600000-delivery-42",
    }),
    show: z.enum(activityKinds).default("changes").openapi({
      description:
        "`changes`: what led to a task or failed, and tasks without a delivery. `stopped`: deliveries that led to no task. With `outcome`, all are looked at.",
    }),
    outcome: outcome
      .optional()
      .openapi({ description: "The status of the delivery, or the state of its task." }),
    projectId: z.coerce.number().int().min(0).max(maxId).optional().openapi({
      type: "integer",
      minimum: 0,
      description: "0: deliveries at no project.",
    }),
    groupId: queryId.optional(),
    trigger: z.enum(["webhook", "manual"]).optional(),
    author: text(300).optional().openapi({ description: "The author of the commit, exact." }),
    code: codeShape.optional(),
    search: deliveryFilter.search,
    from: queryTime.optional().openapi({ description: "At this time or later." }),
    to: queryTime.optional().openapi({ description: "Before this time." }),
  },
  ok: json(
    "Rows, newest first.",
    z
      .object({
        items: z.array(rowShape),
        next: z.string().nullable().openapi({ description: "Send it as `after`; null: there are no more." }),
      })
      .openapi("ActivityList"),
  ),
});

export function activityApi({ store }: ApiDeps) {
  return newApi().openapi(listActivity, async (c) => {
    const { pageSize, after, ...filter } = c.req.valid("query");
    const visibleProjectIds = await c.var.permissions.visibleProjectIds(callerOf(c));
    const asked = onlyGiven({ ...filter, visibleProjectIds });
    const found = await store.activity.list(asked, placeOf(after), pageSize + 1);
    const page = found.slice(0, pageSize);
    const ids = new Map(page.flatMap(({ task }) => (task === null ? [] : [[task.id, task]])));
    const written = await listedTasks(store, [...ids.values()]);
    const taskOf = new Map(written.map((task) => [task.id, task]));
    const items = page.map(({ at, delivery, task, isBuilt }) => ({
      at: at.toISOString(),
      outcome:
        task !== null && isBuilt
          ? task.state
          : delivery?.replaced_by != null
            ? ("merged" as const)
            : (delivery?.status ?? "accepted"),
      delivery: delivery && summaryJson(delivery),
      task: (task && taskOf.get(task.id)) ?? null,
      isBuilt,
    }));
    const last = page.at(-1);
    const isMore = found.length > pageSize && last !== undefined;
    return c.json({ items, next: isMore ? nextOf(last) : null }, 200);
  });
}

type Row = { at: Date; delivery: { id: number } | null; task: { id: number } | null };

function nextOf({ at, delivery, task }: Row): string {
  return `${at.getTime()}-${delivery ? `delivery-${delivery.id}` : `task-${task?.id ?? 0}`}`;
}

function placeOf(after: string | undefined): ActivityPlace | null {
  const [, at, kind, id] = placePattern.exec(after ?? "") ?? [];
  if (at === undefined) return null;
  return { at: new Date(Number(at)), kind: kind === "task" ? "task" : "delivery", id: Number(id) };
}
