import { chmodSync, chownSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Fault } from "../../errors.ts";
import { markVariable } from "../process/process-tree.ts";
import { guarded } from "./script-environment.ts";

/** The account that runs scripts instead of the runner's own. */
export interface ScriptUser {
  name: string;
  uid: number;
  gid: number;
  home: string;
  shell: string;
  /** Names of its groups. */
  groups: string[];
  /** Whether the machine knows it by name: only then does it have groups to take. */
  isAccount: boolean;
}

/** Groups whose members can become root or control containers. */
const powerfulGroups = ["root", "docker", "sudo", "wheel", "disk", "shadow", "lxd", "podman"];

/** Only root can run scripts as another user. */
export function mustBeRoot(setting: string, value: string): void {
  if (process.getuid?.() !== 0)
    throw new Fault(
      "invalid",
      `${setting} is ${value}, but only a runner that runs as root can run scripts as another user. Start it as root, or unset ${setting}.`,
    );
  if (Bun.which("setpriv") === null)
    throw new Fault("invalid", `${setting} needs the program setpriv: install the package util-linux.`);
}

/** Looks the account up. */
export function findScriptUser(name: string): ScriptUser {
  mustBeRoot("runner.scriptUser", name);
  const entry = output(["getent", "passwd", name]).trim().split(":");
  const [account, , uid = "", gid = "", , home = "/", shell = ""] = entry;
  if (account !== name || !/^\d+$/.test(uid) || !/^\d+$/.test(gid))
    throw new Fault(
      "invalid",
      `runner.scriptUser: there is no user ${name} on this machine. Create it: useradd --system --create-home ${name}`,
    );
  if (Number(uid) === 0)
    throw new Fault("invalid", "runner.scriptUser must not be root: scripts would run as the runner does.");
  const groups = output(["id", "-Gn", name]).trim().split(/\s+/);
  return {
    name,
    uid: Number(uid),
    gid: Number(gid),
    home,
    shell: shell || "/bin/sh",
    groups,
    isAccount: true,
  };
}

/** Groups of the account that make it as powerful as root. */
export function powerfulGroupsOf({ groups }: ScriptUser): string[] {
  return groups.filter((group) => powerfulGroups.includes(group));
}

/** The command as run by this account: with its groups, without capabilities. */
function asUser(user: ScriptUser, command: string[]): string[] {
  const groups = user.isAccount ? "--init-groups" : "--clear-groups";
  const identity = [`--reuid=${user.uid}`, `--regid=${user.gid}`, groups, "--inh-caps=-all"];
  return ["setpriv", ...identity, "--", ...command];
}

/** The command as run by this account, or by the runner's own. Only for commands of the runner. */
export function commandAs(user: ScriptUser | null, command: string[]): string[] {
  return user === null ? command : asUser(user, command);
}

const variablePrefix = "SLIPWAY_VARIABLE_";

/**
 * The command of a script as run by this account, and the environment to start it with. `setpriv` still runs as root, where
 * a PATH or an LD_PRELOAD of the project would run the project's code. So the variables have other names until the account
 * has changed.
 */
export function scriptAsUser(
  user: ScriptUser,
  command: string[],
  variables: Record<string, string>,
  ownPath: string,
): { command: string[]; env: Record<string, string> } {
  const passed = Object.entries(variables).filter(([name]) => name !== markVariable);
  const lines = passed.map(([name], index) => {
    const place = `${variablePrefix}${index}`;
    return `${guarded(name, `export "$${place}"`)}\nunset ${place}`;
  });
  return {
    command: asUser(user, ["sh", "-c", [...lines, 'exec "$@"'].join("\n"), "sh", ...command]),
    env: {
      PATH: ownPath,
      ...Object.fromEntries(
        passed.map(([name, value], index) => [`${variablePrefix}${index}`, `${name}=${value}`]),
      ),
    },
  };
}

/**
 * Lets the account enter the runner's folders on the path to those of its task, and read its scripts; it owns none of
 * them. Accounts of other projects cannot enter the folder of the task.
 */
export function letEnter(user: ScriptUser, root: string, scripts: string): void {
  const ofTask = dirname(scripts);
  for (let folder = dirname(ofTask); folder.startsWith(root); folder = dirname(folder))
    chmodSync(folder, 0o711);
  chownSync(ofTask, 0, user.gid);
  chmodSync(ofTask, 0o710);
  chownSync(scripts, 0, user.gid);
  chmodSync(scripts, 0o750);
}

/** Whether the account owns these files, and not an account of an earlier setting. */
export function isOwnerOf(user: ScriptUser | null, folder: string): boolean {
  return user === null || statSync(folder, { throwIfNoEntry: false })?.uid === user.uid;
}

/** Fails at start instead of in every task if the account cannot reach the folder of workspaces. */
export function mustReach(user: ScriptUser, root: string): void {
  mkdirSync(root, { recursive: true, mode: 0o711 });
  chmodSync(root, 0o711);
  const entered = Bun.spawnSync(asUser(user, ["sh", "-c", 'cd -- "$1"', "sh", root]), {
    stdout: "ignore",
    stderr: "ignore",
  });
  if (entered.exitCode === 0) return;
  throw new Fault(
    "invalid",
    `The scripts' user ${user.name} cannot enter ${root}. Set runner.dir to a folder whose parents it may enter, such as /var/lib/slipway-runner.`,
  );
}

/** Gives the checkout to the account; other users of the machine cannot enter it. */
export async function giveTo(user: ScriptUser, folder: string): Promise<void> {
  const child = Bun.spawn(["chown", "-R", "-h", `${user.uid}:${user.gid}`, "--", folder], {
    stdout: "ignore",
    stderr: "pipe",
  });
  const problems = new Response(child.stderr).text();
  if ((await child.exited) !== 0)
    throw new Error(`${folder} could not be given to ${user.name}: ${await problems}`);
  chmodSync(folder, 0o700);
}

function output(command: string[]): string {
  return Bun.spawnSync(command, { stdout: "pipe", stderr: "ignore" }).stdout.toString();
}
