import type { History, ScriptLine, TaskView } from "./history.ts";
import { isDuringFault } from "./publishes.ts";
import { type Violation, violation } from "./violation.ts";

const endStates = ["success", "failed", "canceled", "timeout", "lost"];

export function checkTasks({ tasks: all, projects, scriptLines: allLines, faults }: History): Violation[] {
  const releases = new Set(projects.flatMap(({ id, release }) => (release ? [id] : [])));
  // An automatic rollback repeats the deploy of an earlier task, as a part of the task that failed.
  const scriptLines = allLines.filter(({ projectId, isRollback }) => !releases.has(projectId) && !isRollback);
  const tasks = all.filter(({ projectId }) => !releases.has(projectId));
  const linesOf = Map.groupBy(scriptLines, ({ taskId }) => taskId);
  return [
    ...tasks.flatMap((task) => {
      const found: Violation[] = [];
      const lines = linesOf.get(task.id) ?? [];
      if (!hasEnded(task)) return [neverEnds(task)];
      found.push(...checkEnd(task, isDuringFault(faults, task.createdAt, task.finishedAt)));
      found.push(...checkDeploy(task, lines));
      return found;
    }),
    ...checkEarlier(tasks, scriptLines),
    ...[...Map.groupBy(scriptLines, ({ projectId }) => projectId).values()].flatMap(checkOneAtATime),
  ];
}

/** A task of an earlier round had ended with it. */
function checkEarlier(tasks: TaskView[], lines: ScriptLine[]): Violation[] {
  if (tasks.length === 0) return [];
  const first = Math.min(...tasks.map(({ id }) => id));
  return lines
    .filter(({ taskId, event, stage }) => stage === "deploy" && event === "start" && taskId < first)
    .map(({ taskId }) => violation("deploy-ran-twice", `task ${taskId} of an earlier round deployed again`));
}

export function hasEnded({ state }: TaskView): boolean {
  return endStates.includes(state);
}

export function neverEnds(task: TaskView): Violation {
  return violation("task-never-ends", `task ${task.id} is ${task.state}: ${task.reason}`);
}

/** Stages may take an hour, so a timeout is always wrong here. */
function checkEnd(task: TaskView, isDuringFaultOfRound: boolean): Violation[] {
  if (task.state === "success") return [];
  if (isDuringFaultOfRound && task.state !== "timeout") return [];
  return [violation("task-failed", `task ${task.id} ended as ${task.state}: ${task.reason}`)];
}

function checkDeploy(task: TaskView, lines: ScriptLine[]): Violation[] {
  const found: Violation[] = [];
  const deploys = lines.filter(({ stage }) => stage === "deploy");
  const starts = deploys.filter(({ event }) => event === "start");
  if (starts.length > 1)
    found.push(
      violation(
        "deploy-ran-twice",
        `task ${task.id} deployed in the attempts ${starts.map(({ attempt }) => attempt).join(", ")}`,
      ),
    );
  const isDeployed = deploys.some(({ event, commit }) => event === "end" && commit === task.commit);
  if (task.state === "success" && !isDeployed)
    found.push(
      violation(
        "untrue-success",
        `task ${task.id} succeeded without the end of its deploy of ${task.commit}`,
      ),
    );
  return found;
}

/** A stopped script leaves no last line, so an overlap is a line of an earlier run after the start of a later run. */
export function checkOneAtATime(lines: ScriptLine[]): Violation[] {
  const found = new Map<string, Violation>();
  const begun: string[] = [];
  for (const line of lines) {
    const run = `${line.taskId}.${line.attempt}`;
    if (!begun.includes(run)) begun.push(run);
    const later = begun.at(-1);
    if (later === undefined || later === run) continue;
    const text = `project ${line.projectId}: attempt ${run} wrote "${line.event} ${line.stage}" after attempt ${later} had begun`;
    found.set(`${run} ${later}`, violation("two-tasks-at-once", text));
  }
  return [...found.values()];
}
