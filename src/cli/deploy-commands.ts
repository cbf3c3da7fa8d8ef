import type { Command } from "commander";
import { Fault } from "../errors.ts";
import { print, type Row, table, visible } from "./output.ts";
import { addRemote, apiRemote, type Remote, type RemoteOptions } from "./remote.ts";

interface List<T> {
  items: T[];
  total: number;
}

interface ProjectItem {
  id: number;
  name: string;
  git: { url: string; ref: string };
  liveTaskId: number | null;
}

interface DeliveryAnswer {
  deliveryId?: number;
  status?: string;
  reason?: string;
  message?: string;
  taskId?: number;
  decision?: { status: string; code: string; reason: string };
  trace?: { step: string; result: string; value: string; pattern: string; detail: string }[];
}

/** `project`, `hook` and `logs`: the deploy service from a shell. */
export function addDeployCommands(program: Command): void {
  addProject(program);
  addHook(program);
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
          `/api/projects/${path(projectId)}/tasks`,
          body,
        );
        print(options, task, () => `Task ${task.id} is ${task.state}.`);
        if (options.follow) await printLog(api, String(task.id), options);
      },
    );
}

function addHook(program: Command): void {
  const hook = program.command("hook").description("webhook deliveries");
  addRemote(hook.command("list"))
    .description("deliveries, newest first")
    .option("--project <id>", "of one project")
    .option("--status <status>", "accepted, merged, ignored, rejected or failed")
    .option("--page <number>", "page, from 1", "1")
    .action(async (options: RemoteOptions & { project?: string; status?: string; page: string }) => {
      const query = new URLSearchParams({ page: options.page });
      if (options.project) query.set("projectId", options.project);
      if (options.status) query.set("status", options.status);
      const deliveries = await apiRemote(options).get<List<Row>>(`/api/webhooks/deliveries?${query}`);
      const columns = ["id", "created_at", "project_name", "event", "ref", "status", "reason", "task_id"];
      print(options, deliveries, () => table(deliveries.items, columns));
    });
  addRemote(hook.command("test <projectId>"))
    .description("send a sample delivery; without --real it only shows the decision, step by step")
    .option("--real", "record it and create a task")
    .option("--event <event>", "push, tag or merge_request")
    .option("--ref <ref>", "branch or tag")
    .option("--commit <sha>", "commit")
    .option("--message <text>", "commit message")
    .option("--path <path...>", "changed files")
    .action(async (projectId: string, options: RemoteOptions & TestOptions) => {
      const { event, ref, commit, message, path: paths } = options;
      const body = { dryRun: !options.real, event, ref, commit, message, paths };
      const answer = await apiRemote(options).send<DeliveryAnswer>(
        "POST",
        `/api/projects/${path(projectId)}/webhook/test`,
        body,
      );
      print(options, answer, () => describe(answer));
    });
  addRemote(hook.command("replay <deliveryId>"))
    .description("trigger again from a stored delivery")
    .option("--force", "also when its signature had failed")
    .action(async (deliveryId: string, options: RemoteOptions & { force?: boolean }) => {
      const body = options.force ? { force: true } : {};
      const url = `/api/webhooks/deliveries/${path(deliveryId)}/replay`;
      const answer = await apiRemote(options).send<DeliveryAnswer>("POST", url, body);
      print(options, answer, () => describe(answer));
    });
}

interface TestOptions {
  real?: boolean;
  event?: string;
  ref?: string;
  commit?: string;
  message?: string;
  path?: string[];
}

function path(segment: string): string {
  return encodeURIComponent(segment);
}

function describe(answer: DeliveryAnswer): string {
  const { decision, trace } = answer;
  const outcome = decision
    ? `would be ${decision.status} (${decision.code}): ${visible(decision.reason)}`
    : `delivery ${answer.deliveryId} ${answer.status}: ${visible(answer.message ?? answer.reason)}`;
  return trace ? `${table(trace, ["step", "result", "value", "pattern", "detail"])}\n${outcome}` : outcome;
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
    const log = await api.get<LogAnswer>(`/api/tasks/${path(taskId)}/log?from=${next}`);
    for (const line of log.lines) print(options, line, () => `${line.stage.padEnd(8)} ${line.text}`);
    const isCaughtUp = log.lines.length === 0;
    next = log.next;
    if (isCaughtUp && (log.done || !options.follow)) break;
    if (isCaughtUp) await Bun.sleep(followEveryMs);
  }
  if (!options.follow) return;
  const task = await api.get<{ state: string; reason?: string }>(`/api/tasks/${path(taskId)}`);
  if (task.state !== "success")
    throw new Fault("internal", `Task ${taskId} ended as ${task.state}. ${task.reason ?? ""}`);
}
