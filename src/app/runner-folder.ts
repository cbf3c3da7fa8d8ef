import { homedir } from "node:os";
import { join, resolve, sep } from "node:path";
import type { Config } from "../config/config.ts";
import { ownFolder } from "../own-command.ts";
import { hashToken } from "../secrets.ts";

/** Programs look for a package in every parent folder, so workspaces must not lie below the program's own. */
export function runnerFolders(
  config: Pick<Config, "data.dir" | "runner.dir" | "runner.scriptUser" | "runner.scriptUsers">,
  env: Record<string, string | undefined> = process.env,
) {
  const beside = resolve(config["data.dir"], "runner");
  const chosen = config["runner.dir"];
  // Another user's scripts must not have to pass through the folder of the database and the key.
  const isOutside = isInOwnFolder(beside) || hasScriptUser(config);
  const root = chosen ? resolve(chosen) : isOutside ? outside(beside, env) : beside;
  return {
    /** Clones, workspaces and caches. */
    root,
    /** Where they are without these settings, and in earlier versions, if that differs: services may still run there. */
    former: root === beside ? null : beside,
    /** The hosts that checkouts trust. */
    knownHosts: join(beside, "known_hosts"),
  };
}

/** Whether scripts run as other users than the runner's own. */
export function hasScriptUser(config: Pick<Config, "runner.scriptUser" | "runner.scriptUsers">): boolean {
  return (config["runner.scriptUser"] ?? config["runner.scriptUsers"]) !== undefined;
}

function isInOwnFolder(folder: string): boolean {
  const own = ownFolder();
  return own !== null && `${folder}${sep}`.startsWith(`${own}${sep}`);
}

function outside(beside: string, env: Record<string, string | undefined>): string {
  const isRoot = process.getuid?.() === 0;
  const state = env.XDG_STATE_HOME || (isRoot ? "/var/lib" : join(env.HOME || homedir(), ".local/state"));
  // One folder for each data folder: several installations of one user do not share workspaces.
  return join(state, "slipway", `runner-${hashToken(beside).slice(0, 12)}`);
}
