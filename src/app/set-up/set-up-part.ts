import { resolve } from "node:path";
import type { Store } from "../../model/store.ts";
import { ownFolderIn, sweepOwnFolders } from "../../runner/workspace/own-folder.ts";
import type { Secrets } from "../../secrets.ts";
import { buildHookChecker } from "../../set-up/hook-checker.ts";
import { buildHostCallLimit } from "../../set-up/host-call-limit.ts";
import { buildHostHooks, type HostHooksOptions } from "../../set-up/host-hooks.ts";
import { buildHostTokens } from "../../set-up/host-tokens.ts";
import { buildInspections } from "../../set-up/inspect.ts";
import type { WebhookManagement } from "../../webhook/management.ts";
import type { AppContext } from "../app-context.ts";
import { runnerFolders } from "../runner-folder.ts";
import { gitUrlRulesOf } from "../task-part.ts";

export interface SetUpOptions {
  store: Store;
  secrets: Secrets;
  management: WebhookManagement;
  pollNow: HostHooksOptions["pollNow"];
}

/** The guided set-up of a project: a look at its repository, and webhooks that are created at its Git host. */
export function buildSetUpPart({ config, clock, log }: AppContext, options: SetUpOptions) {
  const { store, secrets, management, pollNow } = options;
  const access = {
    allowInternal: config["tasks.allowInternalNotifications"],
    trusted: config["hosts.trusted"],
  };
  const temp = resolve(config["data.dir"], "set-up");
  const inspections = buildInspections({
    gitUrlRules: gitUrlRulesOf(config),
    temp: ownFolderIn(temp),
    knownHosts: runnerFolders(config).knownHosts,
    env: process.env,
    ...access,
  });
  const tokens = buildHostTokens({ store, secrets, clock, ...access });
  const hooks = buildHostHooks({ store, secrets, clock, tokens, management, pollNow });
  const checker = buildHookChecker({ store, hooks, log });
  return {
    inspections,
    tokens,
    hooks,
    calls: buildHostCallLimit(clock),
    start(): void {
      sweepOwnFolders(temp, log);
      checker.start();
    },
    async close(): Promise<void> {
      inspections.close();
      await checker.close();
    },
  };
}
export type SetUpPart = ReturnType<typeof buildSetUpPart>;
