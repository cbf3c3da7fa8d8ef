import { printedLines } from "../load/scripts.ts";
import type { History, TaskLog, TaskView } from "./history.ts";
import { type Violation, violation } from "./violation.ts";

export function checkLogs({ tasks, projects, logs, liveLines }: History): Violation[] {
  const taskById = new Map(tasks.map((task) => [task.id, task]));
  // A deploy runs once. After an approval it is a later attempt than that of the workspace, which the script prints.
  const releases = new Set(projects.flatMap(({ id, release }) => (release ? [id] : [])));
  const isRelease = (task: TaskView | undefined) => task !== undefined && releases.has(task.projectId);
  const logByTask = new Map(logs.map((log) => [log.taskId, log]));
  return [
    ...logs.flatMap((log) => {
      const task = taskById.get(log.taskId);
      return [...checkNumbers(log), ...checkContent(log, task, isRelease(task))];
    }),
    ...liveLines.flatMap(({ taskId, index, text }) => {
      const log = logByTask.get(taskId);
      const stored = log?.lines.find((line) => line.index === index)?.text;
      if (!log || stored === text) return [];
      return [
        violation(
          "live-log-differs",
          `line ${index} of task ${taskId} was "${text}" live and is "${stored}"`,
        ),
      ];
    }),
  ];
}

function checkNumbers({ taskId, lines }: TaskLog): Violation[] {
  const wrong = lines.findIndex(({ index }, place) => index !== place);
  return wrong < 0
    ? []
    : [
        violation(
          "log-gap",
          `line ${wrong} of the log of task ${taskId} has the index ${lines[wrong]?.index}`,
        ),
      ];
}

/** The last attempt of a task that succeeded printed each of its lines once, in order. */
function checkContent(
  { taskId, lines }: TaskLog,
  task: TaskView | undefined,
  isRelease: boolean,
): Violation[] {
  if (task?.state !== "success") return [];
  const attempt = isRelease ? null : task.attempt;
  return (isRelease ? ["deploy"] : ["build", "deploy"]).flatMap((stage) => {
    const printed = lines.flatMap(({ text }) => printedLines.read(text, stage, attempt) ?? []);
    const total = printed[0]?.total ?? 0;
    const isComplete =
      total > 0 && printed.length === total && printed.every(({ number }, place) => number === place + 1);
    if (isComplete) return [];
    const text = `${stage} of task ${taskId} printed lines 1 to ${total || "?"}, the log has ${printed.map(({ number }) => number).join(" ") || "none"}`;
    return [violation("log-gap", text)];
  });
}
