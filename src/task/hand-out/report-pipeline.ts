import { Fault } from "../../errors.ts";
import { inEnvironment, ownPipeline } from "../../model/environment/environment.ts";
import { toFullRef } from "../../model/git/git-ref.ts";
import { needsContainer, type Pipeline } from "../../model/pipeline.ts";
import type { Project } from "../../model/project.ts";
import { placesIn, refusedDomains } from "../../model/service/route-place.ts";
import type { FieldFault } from "../../model/service/service.ts";
import { isSideEffect } from "../../model/stage/stage-name.ts";
import { stagesFor, withSkipped } from "../../model/stage/task-stages.ts";
import { type OperationKeepers, operation } from "../../model/store.ts";
import type { Task, TaskStage } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";
import { stepOf } from "../approval/request-approval.ts";
import { claimPlaces } from "../claim-places.ts";
import { domainRuleOf } from "../domain-rule.ts";
import { checkedFile } from "../file-faults.ts";
import { type HeldLease, renew } from "../queue.ts";
import { mustStop } from "../transitions.ts";
import { isFork } from "./cache-scope.ts";
import { wantedFile } from "./wanted-file.ts";

interface PipelineReport {
  held: HeldLease;
  /** What the file of the commit says, complete. */
  pipeline: Pipeline;
  /** Of the setting routes.anyDomain. */
  anyDomain: boolean;
}

interface Reported {
  task: Task;
  /** Why the pipeline is not run; empty: it is stored with the task. */
  faults: FieldFault[];
}

/**
 * Stores the pipeline that a runner has read in the commit of a task. Null: the runner no longer holds the task. A Fault names routes that other projects have.
 */
export const reportPipeline = operation(
  "reportPipeline",
  async (keepers, { held, pipeline, anyDomain }: PipelineReport): Promise<Reported | null> => {
    const before = await renew(keepers, held);
    const project = before && (await keepers.projects.hold(before.projectId));
    if (!before || !project) return null;
    // The first report counts: what was read may be approved by now.
    if (mustStop(before) || before.pipeline !== null) return { task: before, faults: [] };
    const source = project.pipelineFile;
    if (source === null || wantedFile(before, project) === null)
      return { task: before, faults: [fault([], newReason("file_not_asked"))] };
    const { image, limits } = { ...project, ...before.approval?.pinned };
    const whole = await checkedFile(keepers, pipeline, {
      ...{ project: { ...project, limits }, source, anyDomain },
    });
    const needs = needsContainer(image, whole.pipeline);
    const runner = await keepers.runners.byId(held.runnerId);
    const faults =
      needs && runner?.containers === false
        ? [...whole.faults, fault([], newReason("file_needs_container"))]
        : whole.faults;
    if (needs && !project.needsContainer) await keepers.projects.update(project.id, { needsContainer: true });
    if (faults.length > 0) return { task: before, faults };
    // Whether the task needs an approval was decided by its stages, so a file adds none to them.
    const stages = withSkipped(stagesFor(whole, before.actions), (name) =>
      before.stages.some((stage) => stage.name === name && stage.state === "skipped"),
    );
    const approval = before.approval && {
      ...before.approval,
      pinned: { ...before.approval.pinned, pipeline: whole.pipeline, needsContainer: needs },
    };
    const task = await keepers.tasks.change(before.id, {
      whileIn: [before.state],
      // What deploys nothing needs no approval.
      set: { pipeline: whole.pipeline, stages, approval: deploys(stages) ? approval : null },
    });
    if (task === null) return null;
    if (isAdopted(task, project)) await adopt(keepers, task, project);
    return { task, faults: [] };
  },
);

/** A deploy whose pipeline is known before it is handed out. A Fault names routes that its project may not have. */
export const adoptPipeline = operation(
  "adoptPipeline",
  async (keepers, { taskId, anyDomain }: { taskId: number; anyDomain: boolean }): Promise<void> => {
    const task = await keepers.tasks.byId(taskId);
    const project = task && (await keepers.projects.hold(task.projectId));
    if (!task || !project) return;
    const releaseId = task.deploys?.taskId ?? task.rollbackTo;
    const release = releaseId === null ? null : await keepers.releases.ofTask(releaseId);
    if (release !== null && release.projectId !== project.id) {
      const rule = await domainRuleOf(keepers, project, anyDomain);
      const promoted = placesIn(inEnvironment(release.pipeline, project.environment));
      const fields = refusedDomains(promoted, placesIn(ownPipeline(project)), rule);
      if (fields.length > 0) throw new Fault("invalid", newReason("routes_refused"), { fields });
    }
    if (project.pipelineFile !== null && task.pipeline !== null) await adopt(keepers, task, project);
    else if (release !== null) await claimPlaces(keepers, project, [], { deployed: [release.pipeline] });
  },
);

/** The project has the pipeline of what it deploys; a project that only builds, that of its own ref. */
function isAdopted(task: Task, { git }: Project): boolean {
  if (stepOf(task) === "build" || isFork(task)) return false;
  const canDeploy = task.stages.some(({ name, steps }) => isSideEffect(name) && steps.length > 0);
  return deploys(task.stages) || (!canDeploy && toFullRef(task.ref) === toFullRef(git.ref));
}

function deploys(stages: TaskStage[]): boolean {
  return stages.some(({ name, state }) => isSideEffect(name) && state === "pending");
}

async function adopt(
  keepers: OperationKeepers,
  { id: taskId, ref, commit, pipeline, approval }: Task,
  project: Project,
): Promise<void> {
  if (pipeline === null) return;
  const fileRead = { taskId, ref, commit: commit ?? "", at: keepers.now().toISOString() };
  const change = {
    ...{ pipeline, fileRead },
    needsContainer: needsContainer(approval?.pinned.image ?? project.image, pipeline),
  };
  const changed = await keepers.projects.update(project.id, change);
  // The pusher may see no other project.
  if (changed) await claimPlaces(keepers, changed, []);
}

function fault(path: FieldFault["path"], message: FieldFault["message"]): FieldFault {
  return { path, message };
}
