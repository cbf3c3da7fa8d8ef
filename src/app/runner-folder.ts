import { homedir } from "node:os";
import { join, resolve, sep } from "node:path";
import type { Config } from "../config/config.ts";
import { settingsFileOf } from "../config/config-load.ts";
import { ownFolder, ownProgram } from "../own-command.ts";
import { hashToken } from "../secrets.ts";

/** Programs look for a package in every parent folder, so workspaces must not lie below the program's own. */
export function runnerFolders(
  config: Pick<Config, "data.dir" | "runner.dir">,
  env: Record<string, string | undefined> = process.env,
) {
  const beside = resolve(config["data.dir"], "runner");
  const chosen = config["runner.dir"];
  // Another user's scripts must not have to pass through the folder of the database and the key.
  const isOutside = isInOwnFolder(beside) || isRootRunner();
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

/** Whether scripts run as another user than the runner's own. */
export function isRootRunner(): boolean {
  return process.getuid?.() === 0;
}

/** The account for scripts, also by the name that the setting had in 1.0. */
export function runnerUserOf(config: Pick<Config, "runner.user" | "runner.scriptUser">): string | undefined {
  return config["runner.user"] ?? config["runner.scriptUser"];
}

/** Files and folders of the server and its runner that no script may see. */
export function secretPathsOf(config: Config): string[] {
  const { root, former } = runnerFolders(config);
  const token = config["runner.tokenFile"];
  const file = settingsFileOf(config);
  const named = [config["data.dir"], root, former, token, file, ownProgram(), "/etc/slipway"];
  return named.flatMap((path) => (path ? [resolve(path)] : []));
}

function isInOwnFolder(folder: string): boolean {
  const own = ownFolder();
  return own !== null && `${folder}${sep}`.startsWith(`${own}${sep}`);
}

function outside(beside: string, env: Record<string, string | undefined>): string {
  const state =
    env.XDG_STATE_HOME || (isRootRunner() ? "/var/lib" : join(env.HOME || homedir(), ".local/state"));
  const usual = join(state, "slipway");
  // Nobody else passes through a data folder.
  const parent = `${beside}${sep}`.startsWith(`${usual}${sep}`) ? `${usual}-runner` : usual;
  // One folder for each data folder: several installations of one user do not share workspaces.
  return join(parent, `runner-${hashToken(beside).slice(0, 12)}`);
}
