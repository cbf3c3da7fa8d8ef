import type { Command } from "commander";
import type { ProjectAnswer } from "../../http/api/project-shape.ts";
import type { TaskAnswer } from "../../http/api/task-shape.ts";
import type { Page } from "../../model/page.ts";
import { stageNames } from "../../model/stage/stage-name.ts";
import { textValue } from "../option-values.ts";
import { print, type Row, table } from "../output.ts";
import { addEnvironmentCommands } from "./environment-commands.ts";
import { addHookCommands } from "./hook-commands.ts";
import { addProjectFileCommands } from "./project-file-commands.ts";
import { addReleaseCommands } from "./release-commands.ts";
import { addRemote, apiRemote, projectPath, type RemoteOptions } from "./remote.ts";
import { addRouteCommands } from "./route-commands.ts";
import { addServiceCommands } from "./service-commands.ts";
import {
  addTaskCommands,
  announce,
  type FollowOptions,
  followCommand,
  followFlags,
  followHelp,
} from "./task-commands.ts";

interface RunOptions {
  ref?: string;
  commit?: string;
  environment?: string;
}

/** `project`, `service`, `hook`, `task` and `logs`: the deploy service from a shell. */
export function addDeployCommands(program: Command): void {
  addProject(program);
  addServiceCommands(program);
  addRouteCommands(program);
  addHookCommands(program);
  addTaskCommands(program);
}

function addProject(program: Command): void {
  const project = program.command("project").description("projects and their tasks");
  addReleaseCommands(project);
  addEnvironmentCommands(project);
  addProjectFileCommands(project);
  addRemote(project.command("list"))
    .description("projects that you may view")
    .action(async (options: RemoteOptions) => {
      const projects = await apiRemote(options).get<Page<ProjectAnswer>>("/api/projects?pageSize=200");
      const rows = projects.items.map(({ git, ...item }) => ({ ...item, ...git }));
      print(options, projects, () => table(rows, ["id", "name", "url", "ref", "liveTaskId"]));
    });
  const create = addRemote(project.command("create <name> <gitUrl>"))
    .description("add a project; `project apply` sets up all of one, its webhook too")
    .option("--ref <ref>", "branch to build", "main");
  for (const stage of stageNames) create.option(`--${stage} <script>`, `script of the ${stage} stage`);
  create
    .option("--image <image>", "container image in which the stages run", textValue)
    .option("--isolation <level>", "weakest isolation of its runners: none, sandbox or container", textValue)
    .action(async (name: string, gitUrl: string, options: RemoteOptions & Record<string, string>) => {
      const stages = Object.fromEntries(
        stageNames.flatMap((stage) =>
          options[stage] === undefined ? [] : [[stage, { script: options[stage] }]],
        ),
      );
      const { image, isolation } = options;
      const execution = { ...(image ? { image } : {}), ...(isolation ? { isolation } : {}) };
      const body = { name, git: { url: gitUrl, ref: options.ref }, stages, ...execution };
      const made = await apiRemote(options).send<Row>("POST", "/api/projects", body);
      print(options, made, () => `Created project ${name} with id ${made.id}.`);
    });
  addRemote(project.command("run <project>"))
    .description("start a task by hand; with --commit an earlier commit is deployed again")
    .option("--ref <ref>", "branch or tag; the project's own otherwise", textValue)
    .option("--commit <sha>", "commit to build", textValue)
    .option(
      "--environment <name>",
      "where it is deployed; otherwise the environment that takes the ref",
      textValue,
    )
    .option(followFlags, followHelp)
    .action(async (project: string, options: FollowOptions & RunOptions) => {
      const body = {
        ...(options.environment ? { environment: options.environment } : {}),
        ...(options.ref ? { ref: options.ref } : {}),
        ...(options.commit ? { commit: options.commit } : {}),
      };
      const api = apiRemote(options);
      const path = await projectPath(api, project);
      await announce(await api.send<TaskAnswer>("POST", `${path}/tasks`, body), options);
    });
  addRemote(project.command("exec <project> <command...>"))
    .usage("[options] <project> -- <command...>")
    .description(
      "run one command in a sandbox of the release that serves, as a task; prints its output, and fails if it fails",
    )
    .action(async (project: string, command: string[], options: RemoteOptions) => {
      const api = apiRemote(options);
      const path = await projectPath(api, project);
      const { id } = await api.send<TaskAnswer>("POST", `${path}/exec`, { command });
      await followCommand(api, id, options);
    });
}
