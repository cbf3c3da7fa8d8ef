import { newToken } from "../../account/credential.ts";
import { Fault } from "../../errors.ts";
import { isolationLevels, weakestIsolation } from "../../model/execution.ts";
import { effectiveIsolation, type Runner, runnerRevision } from "../../model/runner.ts";
import { proxyNames } from "../../model/service/route.ts";
import { newReason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { label, lineText } from "../../reason/schema-forms.ts";
import { existing } from "../../revision.ts";
import { hashToken } from "../../secrets.ts";
import { changeRunner } from "../../task/change-runner.ts";
import { isIsolated, isolationOf, separatesProjects } from "../../task/isolation.ts";
import { auditEntry, audited } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { revision, tagged, withTag } from "./revision.ts";
import { newApi, routesOf } from "./route.ts";
import { id, time } from "./scalars.ts";
import { json, jsonOf, listJson, listOf, onlyGiven, pageQuery, strict, z } from "./shape.ts";

const route = routesOf("runners");
const access = "admin";
/** A runner asks for work or beats every 15 s; silent for three times that, it is away. */
const onlineForMs = 45_000;

const labels = z.array(label).max(32);

const alsoUnlabelled = z
  .boolean()
  .openapi({ description: "Whether it takes projects without labels although it has labels." });

const trustedIsolation = z.enum(isolationLevels).openapi({
  description:
    "The highest isolation that an administrator believes it to have. A runner that reports more gets no tasks that require more.",
});

const runnerShape = z
  .object({
    id: z.number().int(),
    name: z.string().openapi({ example: "build-1" }),
    labels: z.array(z.string()),
    local: z.boolean().openapi({ description: "Started by the server itself." }),
    disabled: z.boolean(),
    version: z.string(),
    concurrency: z.number().int(),
    groupIds: z
      .array(z.number().int())
      .openapi({ description: "Groups whose projects it may run; empty: all projects." }),
    offeredLabels: z
      .array(z.string())
      .nullable()
      .openapi({ description: "Labels that it was started with; null: all of its registered labels." }),
    alsoUnlabelled,
    isolated: z.boolean().openapi({
      description:
        "Whether scripts run in sandboxes or in containers. If not, they can read everything that their user can read.",
    }),
    isolation: z.enum(isolationLevels).openapi({
      description:
        "The isolation that counts: the weaker of `reportedIsolation` and `trustedIsolation`. `sandbox`: each step of build and deploy runs in a sandbox; `container`: all scripts run in containers.",
    }),
    reportedIsolation: z
      .enum(isolationLevels)
      .openapi({ description: "What the runner reports, which the server cannot verify." }),
    isolationNote: z.string().openapi({
      description:
        "Why scripts are not isolated and how they can be, as the runner reports it; empty: they are, or it does not say.",
    }),
    isolationNoteParts: reasonPartsShape,
    proxy: z.enum(proxyNames).nullable().openapi({
      description: "The proxy with which it serves routes, as it reports it; null: it cannot serve any.",
    }),
    proxyNote: z.string().openapi({
      description:
        "Why it has no proxy and how it gets one, or what is wrong with it; empty: nothing to say.",
    }),
    proxyNoteParts: reasonPartsShape,
    trustedIsolation,
    projectUsers: z.boolean().openapi({
      description: "Whether scripts of one project cannot change the workspaces of others.",
    }),
    containers: z.boolean().openapi({ description: "Whether it can run stages in containers." }),
    online: z.boolean(),
    lastEnd: z.object({ at: time, text: z.string() }).nullable().openapi({
      description:
        "Of a local runner that is not online: when it ended last, and the last that it wrote; null: it is not known to have ended.",
    }),
    lastSeenAt: time.nullable(),
    revision,
    createdAt: time,
  })
  .openapi("Runner");

export type RunnerAnswer = z.infer<typeof runnerShape>;

const isolationShape = z
  .object({
    isExposed: z.boolean().openapi({
      description:
        "Whether a user who is not an administrator may manage a project while a runner is not isolated.",
    }),
    notIsolated: z
      .array(z.string())
      .openapi({ description: "Names of enabled runners that are not isolated." }),
  })
  .openapi("Isolation");

const groupIds = z.array(id).max(200);

const withToken = runnerShape.extend({ token: z.string() }).openapi("NewRunner");

const listRunners = route("get", "/runners", {
  summary: "List runners",
  access,
  query: pageQuery,
  ok: json("One page of runners.", listOf(runnerShape, "RunnerList")),
});

const createRunner = route("post", "/runners", {
  summary: "Register a runner",
  description: "`token` is shown only once; pass it to `slipway runner` in a file (`--token-file`).",
  access,
  body: strict({
    name: lineText,
    labels: labels.default([]),
    groupIds: groupIds.default([]),
    alsoUnlabelled: alsoUnlabelled.default(false),
    trustedIsolation: trustedIsolation.default(weakestIsolation),
    concurrency: z.number().int().min(1).max(256).default(2),
  }),
  created: json("The runner with its token.", withToken),
});

const getIsolation = route("get", "/runners/isolation", {
  summary: "Whether scripts are isolated from other projects and the server",
  description: "See docs/security.md: what the permission to manage a project implies.",
  access,
  ok: json("The isolation of the runners.", isolationShape),
});

const getRunner = route("get", "/runners/{id}", {
  summary: "One runner",
  access,
  ok: tagged("The runner.", runnerShape),
});

const updateRunner = route("patch", "/runners/{id}", {
  summary: "Change a runner",
  description:
    "A disabled runner gets no more tasks and finishes its running ones. With `groupIds` it runs only projects of these groups.",
  access,
  body: strict({
    name: lineText.optional(),
    labels: labels.optional(),
    groupIds: groupIds.optional(),
    alsoUnlabelled: alsoUnlabelled.optional(),
    trustedIsolation: trustedIsolation.optional(),
    disabled: z.boolean().optional(),
  }),
  ok: tagged("The runner as it is now.", runnerShape),
});

const resetToken = route("post", "/runners/{id}/reset-token", {
  summary: "Give a runner a new token",
  description: "The old one is invalid at once; the new one is shown this once.",
  access,
  ok: json("The runner with its token.", withToken),
});

const deleteRunner = route("delete", "/runners/{id}", {
  summary: "Delete a runner",
  description: "The local runner belongs to the server; turn it off with runner.enabled instead.",
  access,
});

export function runnersApi({ store, manualTasks, localRunnerLabels, localRunnerEnd, clock }: ApiDeps) {
  const { runners, groups } = store;
  /** `lastSeen` is a time of the store's clock, which may differ from the system clock. */
  const write = (runner: Runner) => runnerJson(runner, store.now().getTime(), localRunnerEnd());
  const byId = async (id: number) => existing(await runners.byId(id), "runner", id);
  const remoteById = async (id: number) => {
    const runner = await byId(id);
    if (!runner.local) return runner;
    throw new Fault("conflict", newReason("local_runner"));
  };

  const mustExist = async (ids: number[]) => {
    const known = await groups.list({ ids }, { page: 1, pageSize: 200 });
    const missing = ids.filter((id) => !known.items.some((group) => group.id === id));
    if (missing.length > 0)
      throw new Fault(
        "invalid",
        newReason("none", { noun: newReason("noun_group"), id: missing.join(", ") }),
        {
          fields: [{ field: "groupIds", message: newReason("no_such_group", { ids: missing.join(", ") }) }],
        },
      );
  };

  return newApi()
    .openapi(getIsolation, async (c) => c.json(await isolationOf(store), 200))
    .openapi(listRunners, async (c) => c.json(listJson(await runners.list(c.req.valid("query")), write), 200))
    .openapi(createRunner, async (c) => {
      const registration = c.req.valid("json");
      const { name, labels, groupIds, alsoUnlabelled, trustedIsolation } = registration;
      await mustExist(groupIds);
      const token = newToken("runner");
      const detail = { labels, groupIds, alsoUnlabelled, trustedIsolation };
      const entry = { action: "runner.create", subject: `runner ${name}`, detail };
      const runner = await audited(c, entry).runners.create({
        ...registration,
        tokenHash: hashToken(token),
        local: false,
        disabled: false,
        createdAt: new Date(clock.now()),
      });
      return c.json({ ...write(runner), token }, 201);
    })
    .openapi(getRunner, async (c) => c.json(withTag(c, write(await byId(c.req.valid("param").id))), 200))
    .openapi(updateRunner, async (c) => {
      const { id } = c.req.valid("param");
      const change = onlyGiven(c.req.valid("json"));
      await mustExist(change.groupIds ?? []);
      const runner = await store.run(changeRunner, {
        id,
        ifMatch: c.req.valid("header")["if-match"],
        change,
        hasLocalLabels: localRunnerLabels.length > 0,
        audited: auditEntry(c, { action: "runner.update", subject: "" }),
      });
      return c.json(withTag(c, write(runner)), 200);
    })
    .openapi(resetToken, async (c) => {
      const { id, name } = await remoteById(c.req.valid("param").id);
      const token = newToken("runner");
      const change = audited(c, { action: "runner.reset-token", subject: `runner ${name}` });
      const runner = existing(await change.runners.update(id, { tokenHash: hashToken(token) }), "runner", id);
      return c.json({ ...write(runner), token }, 200);
    })
    .openapi(deleteRunner, async (c) => {
      const { id, name } = await remoteById(c.req.valid("param").id);
      await manualTasks.deleteRunner(
        id,
        auditEntry(c, { action: "runner.delete", subject: `runner ${name}` }),
      );
      return c.body(null, 204);
    });
}

/** Whether it calls as often as a runner does. */
export function isOnline({ lastSeenAt }: Pick<Runner, "lastSeenAt">, nowMs: number): boolean {
  return lastSeenAt !== null && nowMs - lastSeenAt.getTime() < onlineForMs;
}

function runnerJson(runner: Runner, now: number, end: ReturnType<ApiDeps["localRunnerEnd"]>) {
  const online = !runner.disabled && isOnline(runner, now);
  return jsonOf(runnerShape, {
    ...runner,
    ...reasonJson({ isolationNote: runner.isolationNote, proxyNote: runner.proxyNote }),
    isolation: effectiveIsolation(runner),
    isolated: isIsolated(runner),
    projectUsers: separatesProjects(runner),
    online,
    lastEnd: online || end?.runnerId !== runner.id ? null : { at: end.at.toISOString(), text: end.text },
    revision: runnerRevision(runner),
  });
}
