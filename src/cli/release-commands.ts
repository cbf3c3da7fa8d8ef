import type { Command } from "commander";
import { idValue } from "./option-values.ts";
import { print, table } from "./output.ts";
import { addRemote, apiRemote, type RemoteOptions, segment } from "./remote.ts";
import { announce, type FollowOptions, followFlags, followHelp } from "./task-commands.ts";

interface ReleaseItem {
  taskId: number;
  commit: string;
  isLive: boolean;
  isKept: boolean;
  bytes: number | null;
  deployedAt: string;
  endedAt: string | null;
}

function stateOf({ isLive, isKept, endedAt }: ReleaseItem): string {
  const state = isLive ? "live" : isKept ? "kept" : "needs a build";
  return endedAt ? `${state}, ended by itself` : state;
}

/** `project releases`, `rollback` and `move`: what has served, the way back, and the way to another runner. */
export function addReleaseCommands(project: Command): void {
  addRemote(project.command("releases <projectId>"))
    .description("what has served, the latest first; a kept release returns without a build")
    .action(async (projectId: string, options: RemoteOptions) => {
      const path = `/api/projects/${segment(projectId)}/releases`;
      const list = await apiRemote(options).get<{ items: ReleaseItem[] }>(path);
      const rows = list.items.map((release) => ({
        task: release.taskId,
        commit: release.commit.slice(0, 8),
        state: stateOf(release),
        megabytes: release.bytes === null ? undefined : Math.ceil(release.bytes / 1e6),
        deployedAt: release.deployedAt,
      }));
      print(options, list, () => table(rows, ["task", "commit", "state", "megabytes", "deployedAt"]));
    });
  addRemote(project.command("rollback <projectId>"))
    .description(
      "deploy an earlier release again: the last one that did not end by itself, or the release given by --to",
    )
    .option("--to <taskId>", "the task that built it, see `project releases`", idValue)
    .option(followFlags, followHelp)
    .action(async (projectId: string, options: FollowOptions & { to?: number }) => {
      const body = options.to === undefined ? {} : { taskId: options.to };
      const path = `/api/projects/${segment(projectId)}/rollback`;
      await announce(
        await apiRemote(options).send<{ id: number; state: string }>("POST", path, body),
        options,
      );
    });
  addRemote(project.command("move <projectId>"))
    .description("let another runner take its tasks; what the earlier one has started is not stopped")
    .option("--runner <runnerId>", "this one; any otherwise", idValue)
    .action(async (projectId: string, options: RemoteOptions & { runner?: number }) => {
      const body = { runnerId: options.runner ?? null };
      const path = `/api/projects/${segment(projectId)}/move`;
      const moved = await apiRemote(options).send<{ homeRunnerId: number | null }>("POST", path, body);
      print(options, moved, () =>
        moved.homeRunnerId === null
          ? "Any runner may take its next task."
          : `Runner ${moved.homeRunnerId} takes its tasks.`,
      );
    });
}
