import { actsAsAdmin } from "../../account/permissions.ts";
import { Fault } from "../../errors.ts";
import { servicesOf } from "../../model/pipeline.ts";
import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import {
  type RunningService,
  type ServiceSample,
  stateAt,
  worstState,
} from "../../model/service/running-service.ts";
import { type ServiceState, serviceNameSchema, serviceStates } from "../../model/service/service.ts";
import type { Store } from "../../model/store.ts";
import type { Task, TaskAction } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";
import { serviceJson } from "../../task/view/service-json.ts";
import { taskJson } from "../../task/view/task-json.ts";
import { type ApiContext, auditEntry, callerOf, projectOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { newApi, routesOf } from "./route.ts";
import { id, text, time } from "./scalars.ts";
import { json, strict, z } from "./shape.ts";
import { taskShape } from "./task-shape.ts";

const route = routesOf("services");

const shownMs = 24 * 3_600_000;
const maxArguments = 200;
const maxWaitSeconds = 25;
const maxLines = 2000;
const usualLines = 200;

const state = z.enum(serviceStates).openapi({
  description:
    "`starting`: its check has not passed yet. `restarting`: it ended and is started again. `down`: it ended and is not. `stopped`: a person stopped it. `unknown`: its runner is away.",
});

const use = {
  memoryBytes: z.number().int().nullable(),
  cpu: z.number().nullable().openapi({ description: "Share of one processor." }),
};

const serviceShape = z
  .object({
    name: z.string().openapi({ example: "web" }),
    state,
    since: time.nullable().openapi({ description: "When the state began; null: nothing was reported yet." }),
    release: z
      .object({ taskId: id, commit: z.string(), message: z.string() })
      .nullable()
      .openapi({ description: "The release that it runs, by the task that built it." }),
    runner: z
      .object({ id, name: z.string() })
      .openapi({ description: "The name is empty if the runner was deleted." }),
    restarts: z.number().int().openapi({ description: "Since a person or a deploy last started it." }),
    lastExit: z.string().nullable().openapi({
      description: "Exit code, or name of a signal; null: it has not ended.",
      example: "SIGKILL",
    }),
    fault: z.string().openapi({ description: "Why it is unhealthy; empty otherwise." }),
    lastLines: z.string().openapi({ description: "The last lines before it ended, masked." }),
    port: z.number().int().nullable(),
    ...use,
    samples: z
      .array(z.object({ at: time, ...use }))
      .openapi({ description: "Of the last day, one in five minutes." }),
  })
  .openapi("RunningService");
export type ServiceAnswer = z.infer<typeof serviceShape>;

const listServices = route("get", "/projects/{id}/services", {
  summary: "Services of a project",
  description:
    "The services of the live release. Its runner reports their states every ten seconds. If the runner is away for 30 seconds or was deleted, the states are `unknown`. A disabled runner continues to serve and to report.",
  access: { project: "view" },
  ok: json(
    "The services.",
    z
      .object({
        services: z.array(serviceShape),
        state: state
          .nullable()
          .openapi({ description: "That of the worst service; null: it has no services." }),
      })
      .openapi("RunningServices"),
  ),
});

const params = { name: serviceNameSchema };
const away = { 503: "The runner is away." };

const changeService = <A extends "start" | "stop" | "restart">(action: A, summary: string, more: string) =>
  route("post", `/projects/{id}/services/{name}/${action}`, {
    ofEnvironments: true,
    summary,
    description: `A task in a lane of its own, which does not wait behind builds. ${more}`,
    access: { project: "manage" },
    params,
    faults: { 409: "No release serves.", ...away },
    accepted: json("The task that does it.", taskShape),
  });

const startService = changeService("start", "Start a service", "It waits for a deploy that runs.");
const stopService = changeService(
  "stop",
  "Stop a service",
  "A deploy or start of the project that runs is canceled. The service stays stopped until a person starts it, or a deploy does.",
);
const restartService = changeService("restart", "Restart a service", "It waits for a deploy that runs.");

const outputShape = z
  .object({
    lines: z.array(z.object({ position: z.number().int(), text: z.string() })),
    next: z.number().int().openapi({ description: "Where the next call in the same direction begins." }),
    from: z.number().int().openapi({ description: "The first position that exists." }),
    to: z.number().int().openapi({ description: "The position after the last one." }),
    marks: z
      .array(
        z.object({
          position: z.number().int(),
          at: time,
          kind: z.enum(["release", "start", "cut"]),
          taskId: id.nullable(),
        }),
      )
      .openapi({ description: "Where a release began, it was started again, or a part is missing." }),
  })
  .openapi("ServiceText");
export type OutputAnswer = z.infer<typeof outputShape>;

const readOutput = route("get", "/projects/{id}/services/{name}/output", {
  summary: "Output of a service",
  description:
    "The runner has it, and masks secrets. Go on with `position=next` in the same direction. Without a position, `backward` begins at the end, `forward` at the beginning.",
  access: { project: "view" },
  params,
  query: {
    position: z.coerce.number().int().min(0).optional().openapi({ type: "integer" }),
    direction: z.enum(["forward", "backward"]).default("backward"),
    lines: z.coerce.number().int().min(1).max(maxLines).default(usualLines).openapi({ type: "integer" }),
    search: text(200).default("").openapi({ description: "Only lines that contain this text." }),
    waitSeconds: z.coerce
      .number()
      .int()
      .min(0)
      .max(maxWaitSeconds)
      .default(0)
      .openapi({ type: "integer", description: "If there is nothing, wait so long for new output." }),
  },
  faults: { 429: "Too many people read output of this runner.", ...away },
  ok: json("Lines in the order of the output.", outputShape),
});

const execute = route("post", "/projects/{id}/exec", {
  ofEnvironments: true,
  summary: "Run one command in the release that serves",
  description:
    "A task with a log, in a sandbox of the release, with its variables and secrets. If deploys of the project need an approval, only an administrator may.",
  access: { project: "manage" },
  body: strict({
    command: z
      .array(text(32_768))
      .min(1)
      .max(maxArguments)
      .openapi({ description: "The program and its arguments.", example: ["npm", "run", "seed"] }),
  }),
  faults: { 409: "No release serves.", ...away },
  accepted: json("The task that runs it.", taskShape),
});

/** Begins an action with services as the caller. */
export async function beginServiceAction(
  c: ApiContext,
  { serviceActions }: Pick<ApiDeps, "serviceActions">,
  project: Project,
  action: TaskAction,
): Promise<Task> {
  if (action.type === "exec" && project.deploy.approval !== "none" && !actsAsAdmin(callerOf(c)))
    throw new Fault("forbidden", newReason("exec_needs_admin"));
  const entry = auditEntry(c, { action: `service.${action.type}`, subject: "" });
  return serviceActions.begin(project, action, entry);
}

/** Nobody would see any more what goes on running. Nothing can be asked of a runner that is away. */
export async function mustNotRun(store: Pick<Store, "services" | "now">, project: Project): Promise<void> {
  const now = store.now();
  const going = (await store.services.ofProject(project.id)).filter(
    (service) => !["stopped", "down", "unknown"].includes(stateAt(service, now)),
  );
  if (going.length === 0) return;
  const services = going.map(({ name }) => name).join(", ");
  throw new Fault("conflict", newReason("services_run", { services, project: project.name }));
}

export function servicesApi(deps: ApiDeps) {
  const { store, outputs } = deps;

  async function writtenAll(project: Project): Promise<ServiceAnswer[]> {
    const now = store.now();
    const serving = await store.releases.servedLast(project.id);
    const known = await store.services.ofProject(project.id);
    const samples = await store.services.samples(project.id, new Date(now.getTime() - shownMs));
    const releases = new Map<number, Release | null>([[serving?.taskId ?? 0, serving]]);
    for (const { taskId } of known)
      if (!releases.has(taskId)) releases.set(taskId, await store.releases.ofTask(taskId));
    const runners = new Map<number, string>();
    for (const runnerId of [...known.map((each) => each.runnerId), serving?.runnerId ?? 0])
      if (!runners.has(runnerId)) runners.set(runnerId, (await store.runners.byId(runnerId))?.name ?? "");
    const runnerOf = (runnerId: number) => ({ id: runnerId, name: runners.get(runnerId) ?? "" });
    const shown = known.map((service) =>
      written(service, now, {
        release: releases.get(service.taskId) ?? null,
        runner: runnerOf(service.runnerId),
        samples: samples.filter(({ name }) => name === service.name),
      }),
    );
    const silent = serving ? servicesOf(serving.pipeline) : [];
    const unreported = silent
      .filter(({ name }) => !known.some((each) => each.name === name))
      .map(({ name }) => ({
        ...nothingKnown,
        name,
        release: releaseOf(serving),
        runner: runnerOf(serving?.runnerId ?? 0),
      }));
    return [...shown, ...unreported].sort((a, b) => a.name.localeCompare(b.name));
  }

  const act = (c: ApiContext, action: TaskAction) => beginServiceAction(c, deps, projectOf(c), action);

  return newApi()
    .openapi(listServices, async (c) => {
      const services = await writtenAll(projectOf(c));
      return c.json({ services, state: worstState(services.map((each) => each.state)) }, 200);
    })
    .openapi(startService, async (c) => {
      const { name } = c.req.valid("param");
      return c.json(taskJson(await act(c, { type: "start", services: [name] })), 202);
    })
    .openapi(stopService, async (c) => {
      const { name } = c.req.valid("param");
      return c.json(taskJson(await act(c, { type: "stop", services: [name] })), 202);
    })
    .openapi(restartService, async (c) => {
      const { name } = c.req.valid("param");
      return c.json(taskJson(await act(c, { type: "restart", services: [name] })), 202);
    })
    .openapi(readOutput, async (c) => {
      const { position = null, direction, lines, search, waitSeconds } = c.req.valid("query");
      const query = { position, direction, maxLines: lines, search, waitMs: waitSeconds * 1000 };
      const { name } = c.req.valid("param");
      const { fault: _fault, ...output } = await outputs.read(projectOf(c).id, name, query, c.req.raw.signal);
      return c.json(output, 200);
    })
    .openapi(execute, async (c) => {
      const { command } = c.req.valid("json");
      return c.json(taskJson(await act(c, { type: "exec", command })), 202);
    });
}

/** A service of the release that serves, of which its runner has said nothing. */
const nothingKnown = {
  state: "unknown" as ServiceState,
  since: null,
  restarts: 0,
  lastExit: null,
  fault: "",
  lastLines: "",
  port: null,
  memoryBytes: null,
  cpu: null,
  samples: [],
};

function written(
  service: RunningService,
  now: Date,
  {
    release,
    runner,
    samples,
  }: { release: Release | null; runner: ServiceAnswer["runner"]; samples: ServiceSample[] },
): ServiceAnswer {
  const { taskId: _taskId, runnerId: _runnerId, ...shown } = serviceJson(service, now);
  return {
    ...shown,
    release: releaseOf(release),
    runner,
    samples: samples.map(({ at, memoryBytes, cpu }) => ({ at: at.toISOString(), memoryBytes, cpu })),
  };
}

function releaseOf(release: Release | null): ServiceAnswer["release"] {
  return release && { taskId: release.taskId, commit: release.commit, message: release.message };
}
