import type { Command } from "commander";
import { Fault } from "../../errors.ts";
import type { LogAnswer, TaskAnswer } from "../../http/api/task-shape.ts";
import { shortCommit } from "../../model/git/short-commit.ts";
import type { Page } from "../../model/page.ts";
import { skipCauseOf } from "../../model/stage/skip-cause.ts";
import { hasOwnSteps, stageNames, stepTitle } from "../../model/stage/stage-name.ts";
import { idValue, textValue } from "../option-values.ts";
import { print, printLogLine, table, visible, visibleLines } from "../output.ts";
import { addRemote, apiRemote, type Remote, type RemoteOptions, segment } from "./remote.ts";

export interface FollowOptions extends RemoteOptions {
  follow?: boolean;
}

export const followFlags = "-f, --follow";
export const followHelp = "print the log until the task ends; its result is the exit code";

/** `task` and `logs`: list, show, cancel and repeat tasks. */
export function addTaskCommands(program: Command): void {
  const task = program.command("task").description("what runs, and what ran");
  addRemote(task.command("list"))
    .description("tasks, newest first")
    .option("--project <id>", "of one project", idValue)
    .option("--state <state>", "such as queued, running or failed", textValue)
    .option("--page <number>", "page, from 1", "1")
    .action(listTasks);
  addRemote(task.command("show <taskId>")).description("one task with its stages and steps").action(showTask);
  addRemote(task.command("cancel <taskId>"))
    .description("cancel a task; what it has already deployed stays")
    .action(async (taskId: string, options: RemoteOptions) => {
      const canceled = await actOn(options, taskId, "cancel");
      print(options, canceled, () => `Task ${canceled.id} is ${canceled.state}.`);
    });
  addRemote(task.command("rerun <taskId>"))
    .description("run the same commit again, as a new task")
    .option(followFlags, followHelp)
    .action(async (taskId: string, options: FollowOptions) => {
      await announce(await actOn(options, taskId, "rerun"), options);
    });
  for (const act of ["approve", "reject"] as const)
    addRemote(task.command(`${act} <taskId>`))
      .description(`${act} a deploy that waits for an approval`)
      .option("--comment <text>", "shown with the task", "")
      .action(async (taskId: string, options: RemoteOptions & { comment: string }) => {
        const path = `/api/tasks/${segment(taskId)}/${act}`;
        const answered = await apiRemote(options).send<TaskAnswer>("POST", path, {
          comment: options.comment,
        });
        print(options, answered, () => `Task ${answered.id} is ${answered.state}.`);
      });
  addRemote(program.command("logs <taskId>"))
    .description("print the log of a task")
    .option(followFlags, "keep printing until the task ends; its result is the exit code")
    .action((taskId: string, options: FollowOptions) => printLog(apiRemote(options), taskId, options));
}

/** Prints the new task and, with --follow, its log until it ends. */
export async function announce(task: TaskAnswer, options: FollowOptions, more?: string): Promise<void> {
  const text = `Task ${task.id} is ${task.state}.`;
  print(options, task, () => (more === undefined ? text : `${text}\n${more}`));
  if (options.follow) await printLog(apiRemote(options), String(task.id), options);
}

async function listTasks(
  options: RemoteOptions & { project?: number; state?: string; page: string },
): Promise<void> {
  const { project, state, page } = options;
  const query = new URLSearchParams({
    page,
    ...(project === undefined ? {} : { projectId: String(project) }),
    ...(state === undefined ? {} : { state }),
  });
  const list = await apiRemote(options).get<Page<TaskAnswer>>(`/api/tasks?${query}`);
  const rows = list.items.map((task) => ({
    ...task,
    commit: task.commit && shortCommit(task.commit),
    reason: task.reason || task.waiting,
  }));
  print(options, list, () =>
    table(rows, ["id", "projectId", "state", "ref", "commit", "triggeredBy", "createdAt", "reason"]),
  );
}

async function showTask(taskId: string, options: RemoteOptions): Promise<void> {
  const task = await apiRemote(options).get<TaskAnswer>(`/api/tasks/${segment(taskId)}`);
  const names = [
    "projectId",
    "ref",
    "commit",
    "message",
    "triggeredBy",
    "createdAt",
    "startedAt",
    "finishedAt",
  ] as const;
  const known = names.filter((name) => task[name]);
  print(options, task, () =>
    [
      ...known.map((name) => `${name.padEnd(21)}${visible(task[name])}`),
      "",
      table(stageRows(task), ["name", "state", "startedAt", "finishedAt", "exitCode"]),
      task.reason ? `${task.state}: ${visibleLines(task.reason)}` : task.state,
      ...(task.waiting ? [visibleLines(task.waiting)] : []),
      ...approvalLines(task),
    ].join("\n"),
  );
}

/** The stages, and below each the steps that have names of their own. */
function stageRows(task: TaskAnswer) {
  return task.stages.flatMap((stage) => {
    const skipped = skipCauseOf(task, stage).replace("_", " ");
    const row = (step: TaskAnswer["stages"][number]["steps"][number], name: string) => ({
      ...step,
      name,
      state: step.state === "skipped" ? skipped : step.state,
    });
    const steps = hasOwnSteps(stage) ? stage.steps : [];
    return [row(stage, stage.name), ...steps.map((step) => row(step, `  ${step.name}`))];
  });
}

/** Who may approve a task that waits, and why others may not; or that an approval was an override. */
function approvalLines({ approval }: TaskAnswer): string[] {
  if (!approval) return [];
  const { mayApprove = [], excluded = [], needsReason, override, by, comment } = approval;
  const people = mayApprove.map(({ username }) => visible(username)).join(", ");
  return [
    ...(people === "" ? [] : [`May approve it: ${people}`]),
    ...(needsReason
      ? ["Nobody is left who may approve it; an administrator may, with a reason in --comment."]
      : []),
    ...excluded.map(({ because }) => `May not: ${visibleLines(because)}`),
    ...(override
      ? [`Approved by ${visible(by)}, because nobody else was left who may: ${visibleLines(comment)}`]
      : []),
  ];
}

function actOn(options: RemoteOptions, taskId: string, act: "cancel" | "rerun"): Promise<TaskAnswer> {
  return apiRemote(options).send<TaskAnswer>("POST", `/api/tasks/${segment(taskId)}/${act}`);
}

const followEveryMs = 500;

type LogLine = LogAnswer["lines"][number];

/** Log lines keep their colours. They may contain commit messages of untrusted authors. */
async function printLog(api: Remote, taskId: string, options: FollowOptions): Promise<void> {
  await readLog(api, taskId, options.follow === true, (line) =>
    printLogLine(options, line, () => `${stepTitle(line.stage, line.step).padEnd(8)} ${line.text}`),
  );
  if (!options.follow) return;
  // Not on stdout, which may be redirected to a file for the log.
  process.stderr.write(`${await endingOf(api, taskId)}\n`);
}

/** Prints what the command of a task writes, and nothing else on stdout. Throws a Fault if it fails. */
export async function followCommand(api: Remote, taskId: number, options: RemoteOptions): Promise<void> {
  process.stderr.write(`Task ${taskId} runs the command.\n`);
  const isOwn = ({ stage }: LogLine) => (stageNames as readonly string[]).includes(stage);
  await readLog(api, String(taskId), true, (line) => {
    if (options.json || isOwn(line)) printLogLine(options, line, () => line.text);
    else process.stderr.write(`${visible(line.text)}\n`);
  });
  await endingOf(api, String(taskId));
}

async function readLog(
  api: Remote,
  taskId: string,
  isFollowed: boolean,
  write: (line: LogLine) => void,
): Promise<void> {
  let next = 0;
  for (;;) {
    const log = await api.get<LogAnswer>(`/api/tasks/${segment(taskId)}/log?from=${next}`);
    for (const line of log.lines) write(line);
    const isCaughtUp = log.lines.length === 0;
    next = log.next;
    if (isCaughtUp && (log.done || !isFollowed)) return;
    if (isCaughtUp) await Bun.sleep(followEveryMs);
  }
}

/** How a task ended. Throws a Fault if that is no success. */
async function endingOf(api: Remote, taskId: string): Promise<string> {
  const { state, reason } = await api.get<TaskAnswer>(`/api/tasks/${segment(taskId)}`);
  const ending = `Task ${taskId} ended as ${visible(state)}.${reason ? ` ${visibleLines(reason)}` : ""}`;
  if (state !== "success") throw new Fault("internal", ending);
  return ending;
}
