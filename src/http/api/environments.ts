import { newReason } from "../../reason/reason.ts";
import { changedSettings } from "../../task/release/changed-settings.ts";
import { liveReleaseId } from "../../task/release/earlier-releases.ts";
import { environmentViews } from "../../task/release/environment-views.ts";
import { promotableRelease, promotionOrder } from "../../task/release/promotion-order.ts";
import { withGroupVariables } from "../../task/view/inherited-values.ts";
import { taskJson } from "../../task/view/task-json.ts";
import { auditEntry, projectOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { environmentOf } from "./environment-places.ts";
import { projectShape, serviceSummary } from "./project-shape.ts";
import { changedSetting } from "./releases.ts";
import { found, newApi, routesOf } from "./route.ts";
import { id, text, time } from "./scalars.ts";
import { json, jsonOf, strict, z } from "./shape.ts";
import { taskShape } from "./task-shape.ts";

const route = routesOf("projects");

const releaseFields = {
  taskId: id,
  ref: z.string(),
  commit: z.string(),
  message: z.string(),
  author: z.string(),
  deployedAt: time,
  promotedFrom: id.nullable().openapi({
    description: "The task of another environment that built it; null: its own task did.",
  }),
};

const environmentShape = z
  .object({
    name: z.string(),
    projectId: id.openapi({
      description:
        "It takes the place of the project's id wherever this environment is meant: tasks, releases, services, secrets.",
    }),
    refs: z.array(z.string()),
    from: z.string().nullable(),
    publicUrl: z.string(),
    runner: z.object({ id, name: z.string() }).nullable().openapi({
      description: "The runner on which it serves; null: none yet.",
    }),
    services: projectShape.shape.services,
    release: z
      .object(releaseFields)
      .nullable()
      .openapi({ description: "What serves; null: nothing is known to." }),
    behind: z
      .object({
        from: z.string().openapi({ description: "The environment whose release it could get." }),
        releases: z.number().int().openapi({ description: "How many were deployed there since this one's." }),
        since: time.meta({ description: "When the first of them was deployed." }),
        authors: z.array(z.string()),
      })
      .nullable()
      .openapi({ description: "Null: the same release serves in both, or the two cannot be compared." }),
  })
  .openapi("EnvironmentState");

export type EnvironmentAnswer = z.infer<typeof environmentShape>;

const listEnvironments = route("get", "/projects/{id}/environments", {
  summary: "What serves in each environment of a project",
  description: "In the order of its settings; empty for a project without environments.",
  access: { project: "view" },
  ok: json("The environments.", z.object({ items: z.array(environmentShape) }).openapi("EnvironmentStates")),
});

const places = { from: text(32), to: text(32) };

const promotionShape = z
  .object({
    release: z.object({ ...releaseFields, deployedAt: time }),
    serving: z.object(releaseFields).nullable().openapi({ description: "What serves in `to` now." }),
    items: z.array(changedSetting).openapi({
      description:
        "Settings of the pipeline, and names of variables, that are others in `to`. `release`: what is promoted; `project`: what serves in `to`.",
    }),
  })
  .openapi("Promotion");

export type PromotionAnswer = z.infer<typeof promotionShape>;

const getPromotion = route("get", "/projects/{id}/promotion", {
  summary: "What a promotion would change",
  access: { project: "view" },
  query: places,
  faults: { 409: "Nothing serves in `from`, or `to` gets no releases from there." },
  ok: json("The difference.", promotionShape),
});

const promote = route("post", "/projects/{id}/promote", {
  summary: "Promote a release to another environment",
  description:
    "Deploys in `to` the release that serves in `from`, with the variables and secrets of `to`. Nothing is built. Approvals and the rule against approving one's own work apply as for each deploy.",
  access: { project: "manage" },
  body: strict(places),
  faults: { 409: "Nothing serves in `from`, or `to` gets no releases from there." },
  created: json("The new task.", taskShape),
});

export function environmentsApi({ store, manualTasks }: ApiDeps) {
  return newApi()
    .openapi(listEnvironments, async (c) => {
      const views = await environmentViews(store, projectOf(c));
      const ids = views.map(({ project }) => project.id);
      const services = await store.services.ofProjects(ids);
      const now = store.now();
      const items = [];
      for (const { project, release, behind } of views) {
        const home = project.homeRunnerId === null ? null : await store.runners.byId(project.homeRunnerId);
        const own = services.filter(({ projectId }) => projectId === project.id);
        const { name = "", refs = [], from = null } = project.environment ?? {};
        const { publicUrl } = project;
        const runner = home && { id: home.id, name: home.name };
        const state = { release, behind, services: serviceSummary(own, now), runner };
        items.push(
          jsonOf(environmentShape, { name, refs, from, publicUrl, projectId: project.id, ...state }),
        );
      }
      return c.json({ items }, 200);
    })
    .openapi(getPromotion, async (c) => {
      const { from, to } = c.req.valid("query");
      const source = await environmentOf(store, projectOf(c), from, "from");
      const target = await environmentOf(store, projectOf(c), to, "to");
      await promotionOrder(store, source, target);
      const nothing = newReason("promotion_nothing", { from: source.name });
      const release = found(await promotableRelease(store, source), nothing);
      const liveId = await liveReleaseId(store, target);
      const serving = liveId === null ? null : await store.releases.ofTask(liveId);
      const now = await withGroupVariables(store, target);
      const items = changedSettings(
        { pipeline: release.pipeline, env: namesOnly(release.env) },
        { image: "", pipeline: serving?.pipeline ?? target.pipeline, env: namesOnly(now.env) },
        ["deploy", "start"],
      );
      return c.json(jsonOf(promotionShape, { release, serving, items }), 200);
    })
    .openapi(promote, async (c) => {
      const { from, to } = c.req.valid("json");
      const source = await environmentOf(store, projectOf(c), from, "from");
      const target = await environmentOf(store, projectOf(c), to, "to");
      const entry = auditEntry(c, { action: "task.promote", subject: "" });
      return c.json(taskJson(await manualTasks.promote(source, target, entry)), 201);
    });
}

/** Values of variables differ between environments on purpose; whether there are any does not. */
function namesOnly(env: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(env).map((name) => [name, "set"]));
}
