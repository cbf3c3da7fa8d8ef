import { Fault } from "../errors.ts";
import type { NewAuditEntry } from "../model/audit.ts";
import { atRollback, servicesOf } from "../model/pipeline.ts";
import type { Project } from "../model/project.ts";
import type { Release } from "../model/release.ts";
import { isSeen, type Runner } from "../model/runner.ts";
import { stagesFor, withSkipped } from "../model/stage/task-stages.ts";
import { type OperationKeepers, operation } from "../model/store.ts";
import { newReason } from "../reason/reason.ts";
import { existing } from "../revision.ts";
import { transferFeature } from "../runner/protocol.ts";
import { type Enqueued, enqueueAudited } from "./queue.ts";
import { manualOrder } from "./release/task-order.ts";
import { projectWaits } from "./view/project-wait.ts";

interface Move {
  projectId: number;
  /** Null: any runner may take its next task. */
  runnerId: number | null;
  /** What becomes of its data; null: nobody has said it. */
  data: "with" | "without" | null;
  traceparent: string | null;
  consoleUrl: string;
  audited: NewAuditEntry;
}

/**
 * Moves a project to another runner. Null: nothing that serves can be fetched there, so that only the runner of its next tasks has
 * changed. Otherwise a task of the new runner brings the release that serves there, and until it has succeeded nothing else changes.
 */
export const beginMove = operation(
  "beginMove",
  async (keepers, { projectId, runnerId, data, ...move }: Move): Promise<Enqueued | null> => {
    const project = existing(await keepers.projects.hold(projectId), "project", projectId);
    const detail = { from: project.homeRunnerId, to: runnerId };
    const target =
      runnerId === null ? null : existing(await keepers.runners.byId(runnerId), "runner", runnerId);
    const release = await keepers.releases.servedLast(projectId);
    const holder = release === null ? null : await keepers.runners.byId(release.runnerId);
    const isThere = holder !== null && isSeen(holder, keepers.now());
    if (target === null || release?.state !== "kept" || !isThere || holder.id === target.id) {
      await keepers.projects.setLive(projectId, { homeRunnerId: runnerId });
      await keepers.audit.add({ ...move.audited, detail });
      return null;
    }
    await mustBeReady(keepers, project, target, holder);
    const withData = dataChoice(project, release, data);
    if (withData && holder.disabled)
      throw new Fault("conflict", newReason("move_holder_disabled", { runner: holder.name }));
    const order = manualOrder(project, move.audited.username, move.traceparent, {
      ...{ ref: release.ref, commit: release.commit, message: release.message, actions: null, rerunOf: null },
      source: (await keepers.tasks.byId(release.taskId))?.source ?? null,
      stages: stagesOf(release),
      deploys: { projectId, taskId: release.taskId, digest: release.digest },
      move: { fromRunnerId: holder.id, toRunnerId: target.id, withData, stopTaskId: null },
      targetRunnerId: target.id,
    });
    const audited = { ...move.audited, detail: { ...detail, withData } };
    return enqueueAudited(keepers, { order, consoleUrl: move.consoleUrl, audited });
  },
);

/** Throws a Fault that says why the runners cannot do it, or what the project does now. */
async function mustBeReady(
  keepers: OperationKeepers,
  project: Project,
  target: Runner,
  holder: Runner,
): Promise<void> {
  const now = keepers.now();
  const away = newReason("runner_away", { runner: target.name });
  if (target.disabled || !isSeen(target, now)) throw new Fault("unavailable", away, { isShown: true });
  for (const { name, version, features } of [target, holder])
    if (!features.includes(transferFeature))
      throw new Fault("conflict", newReason("runner_without_transfer", { runner: name, version }));
  const [found] = (await keepers.runners.underRules([project.id], target.id))[project.id] ?? [];
  if (found && found.rule !== null && found.rule !== "wait_home") {
    const wait = (await projectWaits(keepers, [project.id], now, target.id))[project.id];
    const values = { runner: target.name, project: project.name, why: wait?.reason ?? "" };
    throw new Fault("conflict", newReason("move_not_allowed", values));
  }
  const busy = (await keepers.tasks.unfinishedOfProject(project.id)).find(
    ({ serviceAction }) => serviceAction === null,
  );
  if (busy !== undefined)
    throw new Fault("conflict", newReason("move_busy", { project: project.name, task: busy.id }));
}

function dataChoice({ name }: Project, { pipeline }: Release, data: Move["data"]): boolean {
  if (pipeline.data.length === 0) return false;
  if (data === null)
    throw new Fault(
      "conflict",
      newReason("move_has_data", { project: name, folders: pipeline.data.join(", ") }),
    );
  return data === "with";
}

/** Nothing is built. */
function stagesOf({ pipeline }: Release) {
  const run = atRollback(pipeline);
  if (run.deploy.length === 0 && (Array.isArray(run.start) ? run.start : servicesOf(run)).length === 0)
    throw new Fault("conflict", newReason("move_nothing_runs"));
  return withSkipped(stagesFor({ pipeline: run }, null), (name) => name === "build");
}
