import { actsAsAdmin } from "../../account/permissions.ts";
import type { OverviewPage } from "../../model/console/overview.ts";
import { placeText } from "../../model/service/route.ts";
import { type RunningService, stateAt, unknownAfterMs } from "../../model/service/running-service.ts";
import { serviceStates } from "../../model/service/service.ts";
import type { Keepers } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { projectWaits } from "../../task/view/project-wait.ts";
import { type ApiContext, callerOf } from "./context.ts";
import { projectNameOf } from "./project-names.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { isOnline } from "./runners.ts";
import { id, time } from "./scalars.ts";
import { onlyGiven, z } from "./shape.ts";
import { taskState } from "./task-shape.ts";

const maxOfKind = 20;
const maxQueued = 200;
const maxServices = 100;
const maxRunners = 200;
/** Deliveries with a wrong signature that are looked through for their projects. */
const maxRejected = 200;
const rejectedForMs = 86_400_000;
const failedStates = ["failed", "timeout", "lost"];
const troubledStates = ["unhealthy", "restarting", "down", "unknown"];

const needKinds = [
  "queue",
  "approval",
  "service",
  "route",
  "deploy",
  "signature",
  "runner",
  "unsigned",
] as const;

export const needShape = z
  .object({
    kind: z.enum(needKinds).openapi({
      description:
        "`queue`: queued tasks that no runner takes. `approval`: a task waits for one. `service`: it does not serve. `route`: users do not reach it. `deploy`: the last run of a project failed, and none is on its way. `signature`: the last delivery of a project was rejected in the last day. `runner`: an enabled runner is away. `unsigned`: an enabled webhook has no secret.",
    }),
    projectId: id.nullable(),
    name: z
      .string()
      .openapi({ description: "Of the project, for `queue` that of the first task, or of the runner." }),
    taskId: id.nullable(),
    deliveryId: id.nullable(),
    service: z.string().nullable(),
    place: z.string().nullable().openapi({ description: "Domain and path of a route." }),
    state: z.enum([...taskState.options, ...serviceStates]).nullable(),
    count: z.number().int().nullable().openapi({ description: "Of the tasks that wait for a runner." }),
    at: time.nullable().openapi({ description: "Since when, as far as it is known." }),
    detail: z.string().openapi({ description: "Why; empty: there is nothing more to say." }),
    detailParts: reasonPartsShape,
  })
  .openapi("Need");

type Need = z.infer<typeof needShape>;

const nothing = {
  ...{ projectId: null, name: "", taskId: null, deliveryId: null, service: null, place: null },
  ...{ count: null, state: null, at: null, ...reasonJson({ detail: "" }) },
} satisfies Partial<Need>;

type NeedKeepers = Pick<
  Keepers,
  "deliveries" | "overview" | "runners" | "search" | "services" | "tasks" | "webhookConfigs"
> & { now(): Date };

/** What a person should look at, the most urgent first: at most 20 of each kind, without projects that the caller may not view. */
export async function needsFor(
  c: ApiContext,
  keepers: NeedKeepers,
  { failing }: Pick<OverviewPage, "failing">,
): Promise<Need[]> {
  const visible = await c.var.permissions.visibleProjectIds(callerOf(c));
  const away = actsAsAdmin(callerOf(c)) ? await awayRunners(keepers) : [];
  const parts = await Promise.all([
    queued(keepers, visible),
    waiting(keepers, visible),
    troubled(keepers, visible, new Set(away.map((runner) => runner.id))),
    failed(keepers, failing.slice(0, maxOfKind)),
    rejected(keepers, visible),
  ]);
  const found = parts.flat();
  const nameOf = await projectNameOf(
    keepers.search,
    found.flatMap(({ projectId }) => (projectId === null ? [] : { projectId })),
  );
  const unsigned = await keepers.webhookConfigs.unsigned(visible, maxOfKind);
  const needs: Need[] = [
    ...found.map((need) => ({ ...need, name: nameOf(need.projectId ?? 0) })),
    ...away.map(({ name, lastSeenAt }) => ({
      ...nothing,
      kind: "runner" as const,
      name,
      at: lastSeenAt?.toISOString() ?? null,
    })),
    ...unsigned.items.map(({ projectId, projectName }) => ({
      ...nothing,
      kind: "unsigned" as const,
      projectId,
      name: projectName,
    })),
  ];
  return needKinds.flatMap((kind) => needs.filter((need) => need.kind === kind).slice(0, maxOfKind));
}

/** One for each reason why no runner takes tasks, with the first of them. */
async function queued(keepers: NeedKeepers, visibleProjectIds: number[] | undefined): Promise<Need[]> {
  const asked = onlyGiven({ state: "queued" as const, visibleProjectIds });
  const { items } = await keepers.tasks.list(asked, { page: 1, pageSize: maxQueued });
  const deploys = items.filter(({ serviceAction }) => serviceAction === null).toReversed();
  const waits = await projectWaits(
    keepers,
    [...new Set(deploys.map((task) => task.projectId))],
    keepers.now(),
  );
  const waiting = deploys.flatMap((task) => {
    const wait = waits[task.projectId];
    return wait === undefined ? [] : [{ task, ...reasonJson({ detail: wait.reason }) }];
  });
  return [...Map.groupBy(waiting, ({ detail }) => detail).values()].flatMap((alike) => {
    const [first] = alike;
    if (first === undefined) return [];
    const { task, ...detail } = first;
    const own = { projectId: task.projectId, taskId: task.id, at: task.createdAt.toISOString() };
    return { ...nothing, kind: "queue" as const, ...own, count: alike.length, ...detail };
  });
}

async function waiting({ tasks }: NeedKeepers, visibleProjectIds: number[] | undefined): Promise<Need[]> {
  const { items } = await tasks.list(onlyGiven({ state: "waiting" as const, visibleProjectIds }), {
    page: 1,
    pageSize: maxOfKind,
  });
  return items.map((task) =>
    ofTask("approval", task, task.approval?.requestedAt ?? task.createdAt.toISOString()),
  );
}

async function failed({ overview }: NeedKeepers, projectIds: number[]): Promise<Need[]> {
  const runs = (await overview.runs(projectIds, maxOfKind)).filter(({ state }) =>
    failedStates.includes(state),
  );
  const lastOf = new Map(runs.map(({ projectId, id: taskId }) => [projectId, taskId]));
  const tasks = await overview.serving([...lastOf.values()]);
  const ordered = tasks.toSorted((a, b) => b.task.id - a.task.id);
  return ordered.map(({ task }) => ofTask("deploy", task, (task.finishedAt ?? task.createdAt).toISOString()));
}

function ofTask(kind: "approval" | "deploy", task: Task, at: string): Need {
  const { projectId, id: taskId, state, message, reason } = task;
  const [firstLine = ""] = message.split("\n");
  const detail = reasonJson({ detail: kind === "approval" ? firstLine : reason });
  return { ...nothing, kind, projectId, taskId, state, at, ...detail };
}

/** Of a runner that is away, the runner is named, not each of its services. */
async function troubled(
  { services, now: nowOf }: NeedKeepers,
  visibleProjectIds: number[] | undefined,
  away: Set<number>,
): Promise<Need[]> {
  const now = nowOf();
  const before = new Date(now.getTime() - unknownAfterMs);
  const found = await services.troubled(visibleProjectIds, before, maxServices);
  return found.filter(({ runnerId }) => !away.has(runnerId)).flatMap((service) => ofService(service, now));
}

function ofService(service: RunningService, now: Date): Need[] {
  const { projectId, name, fault, lastExit, since, routes } = service;
  const state = stateAt(service, now);
  const own = { ...nothing, projectId, service: name, at: since.toISOString() };
  const isTroubled = troubledStates.includes(state);
  const ill: Need = { ...own, kind: "service", state, ...reasonJson({ detail: fault || (lastExit ?? "") }) };
  const unreached = routes.filter((route) => route.fault !== "");
  return [
    ...(isTroubled ? [ill] : []),
    ...unreached.map(
      (route): Need => ({
        ...own,
        kind: "route",
        at: null,
        place: placeText(route),
        ...reasonJson({ detail: route.fault }),
      }),
    ),
  ];
}

/** Once a delivery with a right signature has followed, there is nothing to do. What the server recorded by itself proves none. */
async function rejected(
  { deliveries, now }: NeedKeepers,
  visibleProjectIds: number[] | undefined,
): Promise<Need[]> {
  const from = new Date(now().getTime() - rejectedForMs);
  const filter = onlyGiven({ code: "signature_invalid" as const, from, visibleProjectIds });
  const wrong = await deliveries.scan(filter, null, maxRejected);
  const projectIds = [...new Set(wrong.map(({ project_id }) => project_id))].filter((each) => each !== 0);
  const newest = await Promise.all(
    projectIds
      .slice(0, maxOfKind)
      .map((projectId) => deliveries.list({ projectId, wasVerified: true }, { page: 1, pageSize: 1 })),
  );
  return newest
    .flatMap(({ items }) => items)
    .filter(({ code }) => code === "signature_invalid")
    .map(({ id: deliveryId, project_id: projectId, created_at, reason }) => ({
      ...{ ...nothing, kind: "signature" as const, projectId, deliveryId },
      ...{ at: created_at.toISOString(), ...reasonJson({ detail: reason }) },
    }));
}

/** Enabled runners that were connected before. */
async function awayRunners({ runners, now }: NeedKeepers) {
  const { items } = await runners.list({ page: 1, pageSize: maxRunners });
  const nowMs = now().getTime();
  return items.filter((runner) => !runner.disabled && runner.lastSeenAt !== null && !isOnline(runner, nowMs));
}
