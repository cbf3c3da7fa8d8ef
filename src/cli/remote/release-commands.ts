import type { Command } from "commander";
import { Fault } from "../../errors.ts";
import type { ChangedSetting, ReleaseAnswer } from "../../http/api/releases.ts";
import type { TaskAnswer } from "../../http/api/task-shape.ts";
import { shortCommit } from "../../model/git/short-commit.ts";
import { idValue } from "../option-values.ts";
import { print, table } from "../output.ts";
import { addRemote, apiRemote, projectPath, type Remote, type RemoteOptions } from "./remote.ts";
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

type MoveOptions = FollowOptions & {
  to?: string;
  runner?: number;
  withData?: boolean;
  withoutData?: boolean;
};

interface Moved {
  homeRunnerId: number | null;
  task: TaskAnswer | null;
}

function dataOf({ withData, withoutData }: MoveOptions): { data?: "with" | "without" } {
  if (withData && withoutData) throw new Fault("invalid", "Choose one of --with-data and --without-data.");
  return withData ? { data: "with" } : withoutData ? { data: "without" } : {};
}

/** Only administrators may read the names of runners. */
async function runnerOf(api: Remote, runner: string): Promise<number> {
  if (/^\d+$/.test(runner)) return Number(runner);
  const { items } = await api.get<{ items: { id: number; name: string }[] }>("/api/runners?pageSize=200");
  const found = items.filter(({ name }) => name === runner);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only.id;
  throw new Fault(
    "not_found",
    found.length === 0
      ? `There is no runner ${runner}.`
      : `Several runners have the name ${runner}; give an id.`,
  );
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
        digest: release.digest?.slice(0, 12),
        megabytes: release.bytes === null ? undefined : Math.ceil(release.bytes / 1e6),
        deployedAt: release.deployedAt,
      }));
      print(options, list, () =>
        table(rows, ["task", "commit", "state", "digest", "megabytes", "deployedAt"]),
      );
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
    .description(
      "let another runner serve it: the release that serves is fetched and started there, and then the services of the earlier runner end",
    )
    .option(
      "--to <runner>",
      "this one, by its id or its name; without it, any runner may build its next task",
    )
    .option("--runner <runnerId>", "the same as --to, by its id", idValue)
    .option("--with-data", "stop the services first, and move the data folders too")
    .option("--without-data", "leave the data folders where they are")
    .option(followFlags, followHelp)
    .action(async (project: string, options: MoveOptions) => {
      const api = apiRemote(options);
      const runnerId = options.to === undefined ? (options.runner ?? null) : await runnerOf(api, options.to);
      const body = { runnerId, ...dataOf(options) };
      const moved = await api.send<Moved>("POST", `${await projectPath(api, project)}/move`, body);
      if (moved.task !== null)
        return announce(moved.task, options, `It serves on runner ${runnerId} once this task has succeeded.`);
      print(options, moved, () =>
        moved.homeRunnerId === null
          ? "Any runner may take its next task."
          : `Runner ${moved.homeRunnerId} takes its tasks, and builds the next one.`,
      );
    });
}
