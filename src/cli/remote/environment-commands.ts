import type { Command } from "commander";
import type { EnvironmentAnswer, PromotionAnswer } from "../../http/api/environments.ts";
import type { TaskAnswer } from "../../http/api/task-shape.ts";
import { shortCommit } from "../../model/git/short-commit.ts";
import { print, table } from "../output.ts";
import { addRemote, apiRemote, projectPath, type RemoteOptions } from "./remote.ts";
import { announce, type FollowOptions, followFlags, followHelp } from "./task-commands.ts";

interface Places {
  from: string;
  to: string;
}

function behindText({ behind }: EnvironmentAnswer): string | undefined {
  if (behind === null) return undefined;
  return `${behind.releases} behind ${behind.from} since ${behind.since}: ${behind.authors.join(", ")}`;
}

function differenceText({ serving, items }: PromotionAnswer, { to }: Places): string {
  const now =
    serving === null ? "Nothing serves there yet." : `It replaces ${shortCommit(serving.commit)} there.`;
  if (items.length === 0) return `${now} Pipeline and names of variables are the same.`;
  const rows = items.map(({ setting, release, project }) => ({ setting, promoted: release, [to]: project }));
  return `${now} These differ:\n${table(rows, ["setting", "promoted", to])}`;
}

/** `project environments` and `promote`: what serves where, and the way of a release from one to the other. */
export function addEnvironmentCommands(project: Command): void {
  addRemote(project.command("environments <project>"))
    .description(
      "what serves in each environment of a project; elsewhere an environment is named shop/staging",
    )
    .action(async (project: string, options: RemoteOptions) => {
      const api = apiRemote(options);
      const list = await api.get<{ items: EnvironmentAnswer[] }>(
        `${await projectPath(api, project)}/environments`,
      );
      const rows = list.items.map((environment) => ({
        environment: environment.name,
        state: environment.services?.state,
        commit: environment.release ? shortCommit(environment.release.commit) : undefined,
        deployedAt: environment.release?.deployedAt,
        runner: environment.runner?.name,
        behind: behindText(environment),
      }));
      print(options, list, () =>
        table(rows, ["environment", "state", "commit", "deployedAt", "runner", "behind"]),
      );
    });
  addRemote(project.command("promote <project>"))
    .description("deploy in one environment the release that serves in another one; nothing is built")
    .requiredOption("--from <environment>", "where it serves")
    .requiredOption("--to <environment>", "where it is deployed")
    .option(followFlags, followHelp)
    .action(async (project: string, options: FollowOptions & Places) => {
      const api = apiRemote(options);
      const path = await projectPath(api, project);
      const { from, to } = options;
      const difference = await api.get<PromotionAnswer>(
        `${path}/promotion?${new URLSearchParams({ from, to })}`,
      );
      const task = await api.send<TaskAnswer>("POST", `${path}/promote`, { from, to });
      const shown = { ...task, difference };
      await announce(shown, options, differenceText(difference, options));
    });
}
