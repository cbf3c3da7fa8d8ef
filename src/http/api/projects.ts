import { actsAsAdmin } from "../../account/permissions.ts";
import { Fault } from "../../errors.ts";
import { noApproval } from "../../model/approval/deploy-rule.ts";
import { differencesOf } from "../../model/audit.ts";
import { toShortRef } from "../../model/git/git-ref.ts";
import type { GitUrlRules } from "../../model/git/git-url.ts";
import { emptyPipeline, needsContainer, type Pipeline } from "../../model/pipeline.ts";
import {
  deleteProject as deleteWithTasks,
  type NewProject,
  type Project,
  type ProjectChange,
  projectDefaults,
  projectRevision,
} from "../../model/project.ts";
import { titlesOf } from "../../model/sealed.ts";
import { firstRouteUrl } from "../../model/service/route-place.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { existing, refuseIfChanged } from "../../revision.ts";
import { changeProject, createProject as createProjectOperation } from "../../task/change-project.ts";
import { releaseWarnings } from "../../task/isolation.ts";
import {
  type ChangedTargets,
  changedSecrets,
  changeTargets,
  heldAddresses,
} from "../../task/notify/change-targets.ts";
import { startWarnings } from "../../task/release/start-warnings.ts";
import { inheritedWarnings } from "../../task/view/inherited-values.ts";
import { boundSecretsOf, droppedWarnings } from "./bound-secrets.ts";
import {
  type ApiContext,
  auditEntry,
  audited,
  auditProject,
  callerOf,
  projectChange,
  projectOf,
} from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { mayChangeRules, mayHaveEnvironments } from "./environment-limits.ts";
import { mergeSource, noSource } from "./pipeline-source.ts";
import { mayAllowDomains, mayAskFor, mayUseDomains, mayWeaken } from "./project-limits.ts";
import {
  changedProjectShape,
  mayChangeHostSteps,
  mergeLimits,
  mergePipeline,
  projectBodies,
  projectList,
  projectShape,
} from "./project-shape.ts";
import { addWarnings, withWarnings } from "./reason-shape.ts";
import { tagged, withTag } from "./revision.ts";
import { newApi, routesOf } from "./route.ts";
import { queryId, text } from "./scalars.ts";
import { mustNotRun } from "./services.ts";
import { json, onlyGiven, pageQuery } from "./shape.ts";
import { statusWarnings } from "./status-warnings.ts";
import { writtenProject, writtenProjects } from "./written-projects.ts";

const route = routesOf("projects");

const listProjects = route("get", "/projects", {
  summary: "List projects",
  description: "By name; those that the caller may view.",
  access: "signed-in",
  query: {
    ...pageQuery,
    groupId: queryId.optional(),
    search: text(100).optional().openapi({ description: "Part of the name." }),
  },
  ok: json("One page of projects.", projectList),
});

const getProject = route("get", "/projects/{id}", {
  summary: "One project",
  access: { project: "view" },
  ok: tagged("The project.", projectShape),
});

const deleteProject = route("delete", "/projects/{id}", {
  summary: "Delete a project",
  description: "With its webhook, tasks, logs, secrets and members. Its deliveries stay as history.",
  access: { project: "manage" },
});

function changingRoutes(rules: GitUrlRules) {
  const bodies = projectBodies(rules);
  const createProject = route("post", "/projects", {
    summary: "Add a project",
    description:
      "Needs `name` and `git.url`. `git.ref` is `main` unless given; a stage without a script is skipped. The branch filter of its webhook is empty, which means every branch; `warnings` says so. For an admin, or with " +
      "the `groupId` of a group that the caller manages.",
    access: "signed-in",
    body: bodies.create,
    created: json("The new project.", projectShape),
  });
  const updateProject = route("patch", "/projects/{id}", {
    summary: "Change a project",
    description:
      "Omitted fields are unchanged; `env`, `notify`, `labels`, `cache` and each list of `pipeline` are replaced as a whole; a target of `notify` with its `id` keeps its stored address. If `git.url` names another server, the clone " +
      "credential and the status token are deleted and listed in `warnings`.",
    access: { project: "manage" },
    body: bodies.update,
    ok: tagged("The project as it is now.", changedProjectShape),
  });
  return { createProject, updateProject };
}

export function projectsApi({ store, secrets, clock, gitUrlRules, webhook, anyDomain }: ApiDeps) {
  const { projects, groups, permissions } = store;
  const { samples, management } = webhook;
  const membersOf = async (groupId: number | null) =>
    groupId === null
      ? []
      : (await permissions.members({ noun: "group", id: groupId })).map((member) => member.userId);
  const { createProject, updateProject } = changingRoutes(gitUrlRules);
  const written = (c: ApiContext, project: Project) => writtenProject(c, store, project);

  /** With the warnings about its webhook and its approvals, for people who can act on them. */
  const writtenWithWebhook = async (c: ApiContext, project: Project) => {
    const shown = await written(c, project);
    if (shown.permission !== "manage") return shown;
    const config = await management.read(project.id);
    const ofHook = config.enabled ? await management.warningsOf(config, project) : [];
    return addWarnings(shown, [
      ...startWarnings(project),
      ...(await releaseWarnings(project, store)),
      ...(await inheritedWarnings(store, project)),
      ...ofHook,
    ]);
  };

  /** Addresses are sealed for the project, so they follow when it has its id. */
  const createWithTargets = async (c: ApiContext, asked: NewProject, targets: ChangedTargets) => {
    const detail = { git: asked.git, groupId: asked.groupId ?? null };
    const entry = { action: "project.create", subject: `project ${asked.name}`, detail };
    const visible = await c.var.permissions.visibleProjectIds(callerOf(c));
    const created = await store.run(createProjectOperation, {
      asked,
      visible,
      audited: auditEntry(c, entry),
    });
    if (targets.notify.length === 0) return created;
    const { stored } = changedSecrets(secrets, created.id, [], targets.addresses);
    const change = {
      id: created.id,
      revision: projectRevision(created),
      change: { notify: targets.notify },
      visible,
    };
    const done = await store.run(changeProject, { ...change, secrets: stored, forget: [], audited: null });
    return done?.project ?? created;
  };

  return newApi()
    .openapi(listProjects, async (c) => {
      const { page, pageSize, ...filter } = c.req.valid("query");
      const ids = await c.var.permissions.visibleProjectIds(callerOf(c));
      const list = await projects.list(onlyGiven({ ...filter, ids }), { page, pageSize });
      return c.json({ ...list, items: await writtenProjects(c, store, list.items) }, 200);
    })
    .openapi(createProject, async (c) => {
      const body = c.req.valid("json");
      const {
        stages: _,
        pipeline: _sent,
        notify = [],
        commitStatus = {},
        deploy = {},
        limits = {},
        ...plain
      } = body;
      await mayPlaceIn(c, body.groupId ?? null);
      await mayAskFor(c, groups, { groupId: body.groupId ?? null, labels: body.labels ?? [] }, []);
      const targets = changeTargets([], new Map(), notify);
      const { pipeline = emptyPipeline, pipelineFile = null } = mergeSource(noSource, body, mergePipeline);
      mayChangeHostSteps(actsAsAdmin(callerOf(c)), emptyPipeline, pipeline);
      const asked: NewProject = {
        ...onlyGiven(plain),
        git: { ref: "main", submodules: false, ...onlyGiven(body.git) },
        ...{ pipeline, pipelineFile },
        needsContainer: needsContainer(body.image ?? "", pipeline),
        notify: [],
        commitStatus: { context: `slipway/${body.name}`, skipped: false, ...onlyGiven(commitStatus) },
        deploy: { ...noApproval, ...onlyGiven(deploy) },
        ...mergeLimits(null, limits),
        publicUrl: ownPublicUrl(body.publicUrl ?? "", pipeline),
        sample: false,
        createdAt: new Date(clock.now()),
      };
      mayAllowDomains(c, null, asked.allowedDomains);
      const complete = { ...projectDefaults, ...asked };
      await mayUseDomains(c, { groups, anyDomain }, complete, null);
      await mayHaveEnvironments(c, store, complete, null);
      const project = await createWithTargets(c, asked, targets);
      c.var.consoleAccess.permissionsChanged(await membersOf(project.groupId));
      const shown = await written(c, project);
      const branch = toShortRef(project.git.ref);
      return c.json(addWarnings(shown, [newReason("warn_new_project", { branch })]), 201);
    })
    .openapi(getProject, async (c) => c.json(withTag(c, await writtenWithWebhook(c, projectOf(c))), 200))
    .openapi(updateProject, async (c) => {
      const { id, name, groupId } = projectOf(c);
      const { git, stages, pipeline, notify, commitStatus, limits, deploy, ...body } = c.req.valid("json");
      if (body.groupId !== undefined && body.groupId !== groupId) await mayPlaceIn(c, body.groupId);
      const update = async (before: Project) => {
        refuseIfChanged(c.req.valid("header")["if-match"], projectRevision(before), "project");
        if (before.sample) refuseOtherAddress(before, git?.url);
        const targets =
          notify && changeTargets(before.notify, await heldAddresses(projects, secrets, before), notify);
        const change: ProjectChange = {
          ...onlyGiven(body),
          ...(targets ? { notify: targets.notify } : {}),
          ...(commitStatus ? { commitStatus: { ...before.commitStatus, ...onlyGiven(commitStatus) } } : {}),
          ...(git ? { git: { ...before.git, ...onlyGiven(git) } } : {}),
          ...(deploy ? { deploy: { ...before.deploy, ...onlyGiven(deploy) } } : {}),
          ...mergeSource(before, { stages, pipeline }, mergePipeline),
          ...(limits ? mergeLimits(before.limits, limits) : {}),
        };
        if (change.publicUrl !== undefined)
          change.publicUrl = ownPublicUrl(
            change.publicUrl,
            before.pipeline,
            change.pipeline ?? before.pipeline,
          );
        mayAllowDomains(c, before.allowedDomains, change.allowedDomains);
        if (change.pipeline || change.environments || change.groupId !== undefined)
          await mayUseDomains(c, { groups, anyDomain }, { ...before, ...change }, before);
        if (change.deploy) mayWeaken(c, before, change.deploy);
        if (change.pipeline) mayChangeHostSteps(actsAsAdmin(callerOf(c)), before.pipeline, change.pipeline);
        if (change.pipeline || change.image !== undefined)
          change.needsContainer = needsContainer(
            change.image ?? before.image,
            change.pipeline ?? before.pipeline,
          );
        if (change.labels !== undefined || change.groupId !== undefined)
          await mayAskFor(c, groups, { ...before, ...change }, before.labels);
        if (change.environments || change.groupId !== undefined) {
          const after = { ...before, ...change };
          await mayHaveEnvironments(c, store, after, before);
          mayChangeRules(c, before, after);
        }
        const forget = boundSecretsOf(before, { ...before, ...change });
        const sealed = targets && changedSecrets(secrets, id, before.notify, targets.addresses);
        const detail = {
          fields: Object.keys(differencesOf(before, change).to).filter((field) => field !== "needsContainer"),
          ...differencesOf(before, auditable(change)),
          ...(git ? { git: change.git } : {}),
          ...(change.deploy ? { deploy: change.deploy } : {}),
        };
        const done = await store.run(changeProject, {
          id,
          revision: projectRevision(before),
          change,
          visible: await c.var.permissions.visibleProjectIds(callerOf(c)),
          secrets: sealed?.stored ?? [],
          forget: [...forget, ...(sealed?.removed ?? [])],
          audited: auditEntry(c, projectChange("project.update", before, detail)),
        });
        return done && { ...done, before };
      };
      const { before, project, forgotten, removed } = await untilUnchanged(async () =>
        update(existing(await projects.byId(id), "project", name)),
      );
      for (const environment of removed) await deleteWithTasks(projects, environment.id);
      if (project.groupId !== before.groupId)
        c.var.consoleAccess.permissionsChanged([
          ...(await membersOf(before.groupId)),
          ...(await membersOf(project.groupId)),
        ]);
      const warnings: Reason[] = droppedWarnings(titlesOf(forgotten), before, project);
      const ofStatus = await statusWarnings(c, projects, project);
      warnings.push(...ofStatus, ...startWarnings(project), ...(await releaseWarnings(project, store)));
      return c.json({ ...withTag(c, await written(c, project)), ...withWarnings(warnings) }, 200);
    })
    .openapi(deleteProject, async (c) => {
      const project = projectOf(c);
      const environments = await projects.environmentsOf([project.id]);
      for (const each of [project, ...environments]) await mustNotRun(store, each);
      for (const environment of environments) await deleteWithTasks(projects, environment.id);
      const { delete: deleteAudited } = audited(c, projectChange("project.delete", project)).projects;
      if (!project.sample) await deleteWithTasks({ ...projects, delete: deleteAudited }, project.id);
      else {
        await samples.remove(project);
        await auditProject(c, "project.delete", project);
      }
      return c.body(null, 204);
    });
}

/** The fields whose values the audit log shows. Variables, scripts and targets may contain secrets. */
function auditable(change: ProjectChange): ProjectChange {
  const { env: _env, pipeline: _pipeline, notify: _notify, needsContainer: _needs, ...rest } = change;
  const { environments: _environments, ...shown } = rest;
  return shown;
}

/** Changes of one project at the same moment beyond this many are refused. */
const maxAttempts = 5;

/** Tries again while another change came first. */
async function untilUnchanged<T>(change: () => Promise<T | null>): Promise<T> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const done = await change();
    if (done !== null) return done;
  }
  throw new Fault("unavailable", "The project is being changed by others; try again.", {
    isShown: true,
    retryAfterSeconds: 1,
  });
}

/** The folder of a sample is deleted with the project, so its address must not change. */
function refuseOtherAddress({ name, git }: Project, url: string | undefined): void {
  if (url === undefined || url === git.url) return;
  const message = newReason("sample_address");
  throw new Fault("invalid", newReason("sample_url", { name, fault: message }), {
    fields: [{ field: "git.url", message }],
  });
}

/**
 * A project runs scripts on the runners, so a new one needs somebody who answers for it: an admin, or the manager of
 * the group that it belongs to.
 */
async function mayPlaceIn(c: ApiContext, groupId: number | null): Promise<void> {
  const caller = callerOf(c);
  if (groupId !== null) await c.var.permissions.authorize(caller, { group: "manage" }, "write", groupId);
  else if (!actsAsAdmin(caller)) throw new Fault("forbidden", newReason("group_missing"));
}

/** The address of a route that comes back from a form is not one of the project's own: it follows the route. */
function ownPublicUrl(sent: string, ...pipelines: Pipeline[]): string {
  return pipelines.some((pipeline) => firstRouteUrl(pipeline) === sent) ? "" : sent;
}
