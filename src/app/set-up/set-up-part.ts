import { resolve } from "node:path";
import { buildInspections } from "../../set-up/inspect.ts";
import type { AppContext } from "../part.ts";
import { runnerFolders } from "../runner-folder.ts";
import { gitUrlRulesOf } from "../task-part.ts";

/** What the guided set-up of a project needs: a look at its repository. */
export function buildSetUpPart({ config }: AppContext) {
  const inspections = buildInspections({
    gitUrlRules: gitUrlRulesOf(config),
    temp: resolve(config["data.dir"], "set-up"),
    knownHosts: runnerFolders(config).knownHosts,
    env: process.env,
  });
  return { inspections, close: () => inspections.close() };
}
export type SetUpPart = ReturnType<typeof buildSetUpPart>;
