import type { Command } from "commander";
import type { ProjectAnswer } from "../../http/api/project-shape.ts";
import type { ChangedSetting, ReleaseAnswer } from "../../http/api/releases.ts";
import type { TaskAnswer } from "../../http/api/task-shape.ts";
import { shortCommit } from "../../model/git/short-commit.ts";
import { idValue } from "../option-values.ts";
import { print, table } from "../output.ts";
import { addRemote, apiRemote, projectPath, type RemoteOptions } from "./remote.ts";
import { announce, type FollowOptions, followFlags, followHelp } from "./task-commands.ts";

function stateOf({ isLive, isNext, isKept, endedAt }: ReleaseAnswer): string {
  const state = isLive ? "live" : isKept ? "kept" : "needs a build";
  if (endedAt) return `${state}, ended by itself`;
  return isNext ? `${state}, next` : state;
}

function settingsText({ rollbackTo }: TaskAnswer, changed: ChangedSetting[]): string {
  const own = `It uses the variables, scripts and checks of task ${rollbackTo}, and the secrets of today.`;
  if (changed.length === 0) return `${own} None differs from those of the project.`;
  return `${own} These differ from those of the project:\n${table(changed, ["setting", "release", "project"])}`;
}

/** `project releases`, `rollback` and `move`: what has served, the way back, and the way to another runner. */
export function addReleaseCommands(project: Command): void {
  addRemote(project.command("releases <project>"))
    .description(
      "what has served, in the order of the deploys, the last one first; a kept release returns without a build",
    )
    .action(async (project: string, options: RemoteOptions) => {
      const api = apiRemote(options);
      const path = await projectPath(api, project);
      const list = await api.get<{ items: ReleaseAnswer[] }>(`${path}/releases`);
      const rows = list.items.map((release) => ({
        task: release.taskId,
        commit: shortCommit(release.commit),
        state: stateOf(release),
        megabytes: release.bytes === null ? undefined : Math.ceil(release.bytes / 1e6),
        deployedAt: release.deployedAt,
      }));
      print(options, list, () => table(rows, ["task", "commit", "state", "megabytes", "deployedAt"]));
    });
  addRemote(project.command("rollback <project>"))
    .description(
      "deploy an earlier release again: the one that the live release replaced when it was first deployed, or the release given by --to",
    )
    .option("--to <taskId>", "the task that built it, see `project releases`", idValue)
    .option(followFlags, followHelp)
    .action(async (project: string, options: FollowOptions & { to?: number }) => {
      const api = apiRemote(options);
      const body = options.to === undefined ? {} : { taskId: options.to };
      const path = await projectPath(api, project);
      const task = await api.send<TaskAnswer>("POST", `${path}/rollback`, body);
      const { items } = await api.get<{ items: ChangedSetting[] }>(
        `${path}/releases/${task.rollbackTo}/settings`,
      );
      const shown = { ...task, changedSettings: items };
      await announce(shown, options, settingsText(task, items));
    });
  addRemote(project.command("move <project>"))
    .description("let another runner take its tasks; what the earlier one has started is not stopped")
    .option("--runner <runnerId>", "this one; any otherwise", idValue)
    .action(async (project: string, options: RemoteOptions & { runner?: number }) => {
      const body = { runnerId: options.runner ?? null };
      const api = apiRemote(options);
      const moved = await api.send<ProjectAnswer>("POST", `${await projectPath(api, project)}/move`, body);
      print(options, moved, () =>
        moved.homeRunnerId === null
          ? "Any runner may take its next task."
          : `Runner ${moved.homeRunnerId} takes its tasks.`,
      );
    });
}
