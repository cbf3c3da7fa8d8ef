import type { DeployProject, History, ReleaseRules, ScriptLine, ServiceView, TaskView } from "./history.ts";
import { isDuringFault } from "./publishes.ts";
import { checkOneAtATime, hasEnded, neverEnds } from "./tasks.ts";
import { type Violation, violation } from "./violation.ts";

/** Projects whose start stage replaces a service. */
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

/** A task that waits for an approval lets others run, so its build and its start are two runs. */
function isReplacing({ event, stage, isRollback }: ScriptLine, { needsApproval }: ReleaseRules): boolean {
  if (isRollback || !["start", "beat", "end"].includes(event)) return false;
  return !needsApproval || stage === "start";
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
  const starts = own.filter(({ event, stage }) => event === "start" && stage === "start");
  if (starts.length > 1)
    found.push(violation("deploy-ran-twice", `task ${task.id} ran its start ${starts.length} times`));
  if (needsApproval && starts.length > 0) {
    const approvedAt = own.findIndex(({ event }) => event === "approved");
    const startedAt = own.findIndex(({ event, stage }) => event === "start" && stage === "start");
    if (approvedAt < 0 || approvedAt > startedAt)
      found.push(violation("unapproved-deploy", `task ${task.id} started before it was approved`));
  }
  const hasStarted = own.some(
    ({ event, stage, commit }) => event === "end" && stage === "start" && commit === task.commit,
  );
  if (task.state === "success" && (!hasStarted || task.isBroken))
    found.push(
      violation(
        "untrue-success",
        task.isBroken
          ? `task ${task.id} succeeded with ${task.commit}, which does not start`
          : `task ${task.id} succeeded without the end of its start of ${task.commit}`,
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

/** Between two starts of tasks, the release before returns at most once. */
function checkRollbacks({ id, name }: DeployProject, lines: ScriptLine[]): Violation[] {
  let sinceStart = 0;
  let most = 0;
  for (const { event, stage, isRollback } of lines) {
    if (event !== "start" || stage !== "start") continue;
    sinceStart = isRollback ? sinceStart + 1 : 0;
    most = Math.max(most, sinceStart);
  }
  return most <= 1
    ? []
    : [violation("rollback-repeated", `project ${id} (${name}) rolled back ${most} times`)];
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
  { id, name, release }: DeployProject,
  { served, live, liveNote, overlaps, running }: ServiceView,
  tasks: TaskView[],
): Violation[] {
  const found: Violation[] = [];
  const about = `project ${id} (${name})`;
  if (release?.previous === "stop-first")
    found.push(...overlaps.map((text) => violation("two-services", `${about}: ${text}`)));
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
