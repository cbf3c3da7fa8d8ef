import { chmodSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { Fault } from "../../errors.ts";
import type { Logger } from "../../logger.ts";

/** The account that runs scripts instead of the runner's own, which is root. */
export interface RunnerUser {
  name: string;
  uid: number;
  gid: number;
  home: string;
  shell: string;
}

/** The account without a setting. Units and images bring it. */
export const usualRunnerUser = "slipway-run";
/** Groups whose members can become root or control containers. */
const powerfulGroups = ["root", "docker", "sudo", "wheel", "disk", "shadow", "lxd", "podman"];

/**
 * Who runs the scripts of this runner; null: its own user, because only root can run scripts as another one. A root runner
 * never runs them as root: it creates the usual account if the machine has none.
 */
export function findRunnerUser(setting: string | undefined, log: Logger): RunnerUser | null {
  if (process.getuid?.() !== 0) {
    if (setting === undefined || setting === ownName()) return null;
    throw new Fault(
      "invalid",
      `runner.user is ${setting}, but only a runner that runs as root can run scripts as another user. Start it as root, or unset runner.user.`,
    );
  }
  if (!mayChangeUser()) {
    log.warn(
      "this runner is root without the rights of root (its capabilities were dropped): scripts run as root too; start it as another user",
    );
    return null;
  }
  if (Bun.which("setpriv") === null)
    throw new Fault(
      "invalid",
      "A runner that runs as root needs the program setpriv: install the package util-linux.",
    );
  if (setting !== undefined) return chosen(setting);
  const found = lookUp(usualRunnerUser) ?? create(log);
  if (found !== null) return checked(found);
  const nobody = lookUp("nobody");
  if (nobody === null)
    throw new Fault(
      "invalid",
      `There is no user ${usualRunnerUser} to run scripts, it could not be created, and there is no user nobody. Create one: useradd --system ${usualRunnerUser}`,
    );
  log.warn(
    `scripts run as nobody, as other programs of this machine may do, because there is no user ${usualRunnerUser} and it could not be created: useradd --system ${usualRunnerUser}`,
  );
  return nobody;
}

const capabilityToSetUid = 1n << 7n;

/** Root in a container may have no capabilities. */
function mayChangeUser(): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return effective !== undefined && (BigInt(`0x${effective}`) & capabilityToSetUid) !== 0n;
}

function chosen(name: string): RunnerUser {
  const found = lookUp(name);
  if (found === null)
    throw new Fault(
      "invalid",
      `runner.user: there is no user ${name} on this machine. Create it: useradd --system ${name}`,
    );
  return checked(found);
}

function checked(user: RunnerUser): RunnerUser {
  if (user.uid === 0)
    throw new Fault("invalid", "runner.user must not be root: scripts would run as the runner does.");
  const group = output(["getent", "group", String(user.gid)]).split(":")[0] ?? "";
  if (powerfulGroups.includes(group))
    throw new Fault(
      "invalid",
      `runner.user: the group of ${user.name} is ${group}, which makes it as powerful as root. Choose another user.`,
    );
  return user;
}

/** Null: it could not be created, for example because the machine has no useradd, or its root is read-only. */
function create(log: Logger): RunnerUser | null {
  const home = ["--no-create-home", "--home-dir", `/home/${usualRunnerUser}`, "--shell", "/usr/sbin/nologin"];
  output(["useradd", "--system", "--user-group", ...home, usualRunnerUser]);
  // Also if another runner has just created it.
  const found = lookUp(usualRunnerUser);
  if (found !== null) log.info({ user: usualRunnerUser }, "created the user that runs scripts");
  return found;
}

function lookUp(name: string): RunnerUser | null {
  const [account, , uid = "", gid = "", , home = "/", shell = ""] = output(["getent", "passwd", name])
    .trim()
    .split(":");
  if (account !== name || !/^\d+$/.test(uid) || !/^\d+$/.test(gid)) return null;
  const isUsable = shell !== "" && !/\/(nologin|false)$/.test(shell);
  return { name, uid: Number(uid), gid: Number(gid), home, shell: isUsable ? shell : "/bin/sh" };
}

function ownName(): string {
  return output(["id", "-un"]).trim();
}

/** The command as run by this account: in none of its other groups, without capabilities, and unable to gain any. */
export function asUser({ uid, gid }: RunnerUser, command: string[]): string[] {
  const identity = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--inh-caps=-all"];
  return ["setpriv", ...identity, "--no-new-privs", "--", ...command];
}

/** Fails at start instead of in every task if the account cannot reach the folder of workspaces. */
export function mustReach(user: RunnerUser, root: string): void {
  mkdirSync(root, { recursive: true, mode: 0o711 });
  chmodSync(root, 0o711);
  const parent = dirname(root);
  // The parent of the usual place, which versions before 2.0 have closed.
  if (/^runner-[0-9a-f]{12}$/.test(basename(root)) && statSync(parent).uid === 0) chmodSync(parent, 0o711);
  const entered = Bun.spawnSync(asUser(user, ["sh", "-c", 'cd -- "$1"', "sh", root]), {
    stdout: "ignore",
    stderr: "ignore",
  });
  if (entered.exitCode === 0) return;
  throw new Fault(
    "invalid",
    `The user ${user.name}, who runs scripts, cannot enter ${root}. Set runner.dir to a folder whose parents it may enter, such as /var/lib/slipway-runner.`,
  );
}

/** What a program printed; empty: it failed, or there is no such program. */
function output(command: string[]): string {
  try {
    return Bun.spawnSync(command, { stdout: "pipe", stderr: "ignore" }).stdout.toString();
  } catch {
    return "";
  }
}
