import type { DeployProject, History, ReleaseRules, ScriptLine, ServiceView, TaskView } from "./history.ts";
import { isDuringFault } from "./publishes.ts";
import { checkOneAtATime, hasEnded, neverEnds } from "./tasks.ts";
import { type Violation, violation } from "./violation.ts";

/** Projects whose releases replace a service. */
export function checkReleases(history: History): Violation[] {
  return history.projects.flatMap((project) => {
    if (!project.release) return [];
    const isOwn = ({ projectId }: { projectId: number }) => projectId === project.id;
    const tasks = history.tasks.filter(isOwn);
    const lines = history.scriptLines.filter(isOwn);
    return [
      ...tasks.flatMap((task) => checkTask(task, project.release as ReleaseRules, lines, history)),
      ...checkOneAtATime(lines.filter((line) => isReplacing(line, project.release as ReleaseRules))),
      ...checkRollbacks(project, lines),
      ...checkRolledBack(tasks, history),
      ...history.services.filter(isOwn).flatMap((service) => checkService(project, service, tasks)),
    ];
  });
}

/** A task that waits for an approval lets others run, so its build and its deploy are two runs. */
function isReplacing({ event, stage, isRollback }: ScriptLine, { needsApproval }: ReleaseRules): boolean {
  if (isRollback || !["start", "beat", "end"].includes(event)) return false;
  return !needsApproval || stage === "deploy";
}

function checkTask(
  task: TaskView,
  { needsApproval }: ReleaseRules,
  lines: ScriptLine[],
  { faults }: History,
): Violation[] {
  if (!hasEnded(task)) return [neverEnds(task)];
  const found: Violation[] = [];
  const own = lines.filter(({ taskId, isRollback }) => taskId === task.id && !isRollback);
  const deploys = own.filter(({ event, stage }) => event === "start" && stage === "deploy");
  if (deploys.length > 1)
    found.push(violation("deploy-ran-twice", `task ${task.id} deployed ${deploys.length} times`));
  if (needsApproval && deploys.length > 0) {
    const approvedAt = own.findIndex(({ event }) => event === "approved");
    const deployedAt = own.findIndex(({ event, stage }) => event === "start" && stage === "deploy");
    if (approvedAt < 0 || approvedAt > deployedAt)
      found.push(violation("unapproved-deploy", `task ${task.id} deployed before it was approved`));
  }
  const hasServed = own.some(({ event, commit }) => event === "serving" && commit === task.commit);
  if (task.state === "success" && (!hasServed || task.isBroken))
    found.push(
      violation(
        "untrue-success",
        task.isBroken
          ? `task ${task.id} succeeded with ${task.commit}, which does not start`
          : `task ${task.id} succeeded without a service of ${task.commit}`,
      ),
    );
  // A newer release cancels a task that waits for its approval.
  const isExpected =
    task.state === "success" ||
    (task.state === "failed" && task.isBroken) ||
    (task.state === "canceled" && needsApproval) ||
    (task.state !== "timeout" && isDuringFault(faults, task.createdAt, task.finishedAt));
  if (!isExpected)
    found.push(violation("task-failed", `task ${task.id} ended as ${task.state}: ${task.reason}`));
  return found;
}

/** Only the service of the release before starts again. */
function checkRollbacks({ id, name }: DeployProject, lines: ScriptLine[]): Violation[] {
  return lines
    .filter(({ event, stage, isRollback }) => isRollback && event === "start" && stage === "deploy")
    .map(({ taskId }) =>
      violation(
        "rollback-deployed",
        `project ${id} (${name}) ran the deploy of task ${taskId} at a rollback`,
      ),
    );
}

/** Without a fault, a task that failed after a success says what is serving. */
function checkRolledBack(tasks: TaskView[], { faults }: History): Violation[] {
  return tasks.flatMap((task, place) => {
    const before = tasks.slice(0, place).findLast(({ state }) => state !== "canceled");
    if (task.state !== "failed" || !task.isBroken || before?.state !== "success") return [];
    if (isDuringFault(faults, before.createdAt, task.finishedAt)) return [];
    if (/is (still )?serving/.test(task.reason)) return [];
    return [violation("rollback-missing", `task ${task.id} failed without a rollback: ${task.reason}`)];
  });
}

function checkService(
  { id, name }: DeployProject,
  { served, live, liveNote, running }: ServiceView,
  tasks: TaskView[],
): Violation[] {
  const found: Violation[] = [];
  const about = `project ${id} (${name})`;
  const last = tasks.findLast((task) => task.state !== "canceled");
  if (live !== null && served !== live)
    found.push(
      violation("live-untrue", `${about} serves ${served ?? "nothing"}, and ${live} is called live`),
    );
  if (live === null && last?.state === "success")
    found.push(
      violation("live-untrue", `${about} has no live task after the success of task ${last.id}: ${liveNote}`),
    );
  if (live !== null && running > 1)
    found.push(violation("live-untrue", `${about} has ${running} services, and ${live} is called live`));
  return found;
}
