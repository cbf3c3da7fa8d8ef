import type { Command } from "commander";
import { Fault } from "../errors.ts";
import { addHookCommands } from "./hook-commands.ts";
import { print, type Row, table } from "./output.ts";
import { addRemote, apiRemote, type List, type Remote, type RemoteOptions, segment } from "./remote.ts";

interface ProjectItem {
  id: number;
  name: string;
  git: { url: string; ref: string };
  liveTaskId: number | null;
}

/** `project`, `hook` and `logs`: the deploy service from a shell. */
export function addDeployCommands(program: Command): void {
  addProject(program);
  addHookCommands(program);
  addRemote(program.command("logs <taskId>"))
    .description("print the log of a task")
    .option("-f, --follow", "keep printing until the task ends; its result is the exit code")
    .action(async (taskId: string, options: RemoteOptions & { follow?: boolean }) => {
      await printLog(apiRemote(options), taskId, options);
    });
}

function addProject(program: Command): void {
  const project = program.command("project").description("projects and their tasks");
  addRemote(project.command("list")).action(async (options: RemoteOptions) => {
    const projects = await apiRemote(options).get<List<ProjectItem>>("/api/projects?pageSize=200");
    const rows = projects.items.map(({ git, ...item }) => ({ ...item, ...git }));
    print(options, projects, () => table(rows, ["id", "name", "url", "ref", "liveTaskId"]));
  });
  addRemote(project.command("create <name> <gitUrl>"))
    .option("--ref <ref>", "branch to build", "main")
    .option("--build <script>", "script of the build stage")
    .option("--deploy <script>", "script of the deploy stage")
    .option("--start <script>", "script of the start stage")
    .action(async (name: string, gitUrl: string, options: RemoteOptions & Record<string, string>) => {
      const stages = Object.fromEntries(
        ["build", "deploy", "start"].flatMap((stage) =>
          options[stage] === undefined ? [] : [[stage, { script: options[stage] }]],
        ),
      );
      const body = { name, git: { url: gitUrl, ref: options.ref }, stages };
      const made = await apiRemote(options).send<Row>("POST", "/api/projects", body);
      print(options, made, () => `Created project ${name} with id ${made.id}.`);
    });
  addRemote(project.command("run <projectId>"))
    .description("start a task by hand; with --commit an earlier commit is deployed again")
    .option("--ref <ref>", "branch or tag; the project's own otherwise")
    .option("--commit <sha>", "commit to build")
    .option("-f, --follow", "print the log until the task ends; its result is the exit code")
    .action(
      async (
        projectId: string,
        options: RemoteOptions & { ref?: string; commit?: string; follow?: boolean },
      ) => {
        const api = apiRemote(options);
        const body = {
          ...(options.ref ? { ref: options.ref } : {}),
          ...(options.commit ? { commit: options.commit } : {}),
        };
        const task = await api.send<{ id: number; state: string }>(
          "POST",
          `/api/projects/${segment(projectId)}/tasks`,
          body,
        );
        print(options, task, () => `Task ${task.id} is ${task.state}.`);
        if (options.follow) await printLog(api, String(task.id), options);
      },
    );
}

interface LogAnswer {
  lines: { index: number; stage: string; at: string; text: string }[];
  next: number;
  done: boolean;
}

const followEveryMs = 500;

/** Log lines go out as they are, colours included: they are the output of the user's own scripts. */
async function printLog(
  api: Remote,
  taskId: string,
  options: RemoteOptions & { follow?: boolean },
): Promise<void> {
  let next = 0;
  for (;;) {
    const log = await api.get<LogAnswer>(`/api/tasks/${segment(taskId)}/log?from=${next}`);
    for (const line of log.lines) print(options, line, () => `${line.stage.padEnd(8)} ${line.text}`);
    const isCaughtUp = log.lines.length === 0;
    next = log.next;
    if (isCaughtUp && (log.done || !options.follow)) break;
    if (isCaughtUp) await Bun.sleep(followEveryMs);
  }
  if (!options.follow) return;
  const task = await api.get<{ state: string; reason?: string }>(`/api/tasks/${segment(taskId)}`);
  if (task.state !== "success")
    throw new Fault("internal", `Task ${taskId} ended as ${task.state}. ${task.reason ?? ""}`);
}
