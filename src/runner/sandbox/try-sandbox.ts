import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { MachineView } from "./machine-view.ts";
import { asUser, type RunnerUser } from "./runner-user.ts";
import { sandboxCommand } from "./sandbox-command.ts";

const trialMs = 10_000;

/** What the trial of a sandbox has found. */
interface Trial {
  isInstalled: boolean;
  /** What bwrap printed; empty: it works. */
  output: string;
  /** The text of a file below /proc/sys; null: there is none. */
  tunable(name: string): string | null;
  isContainer: boolean;
}

/** Why scripts cannot run in a sandbox on this machine and how to get it, found by trying; null: they can. */
export async function trySandbox(machine: MachineView, user: RunnerUser | null): Promise<string | null> {
  if (process.platform !== "linux") return "the sandbox needs Linux";
  const isInstalled = Bun.which("bwrap") !== null;
  return sandboxFault({
    isInstalled,
    output: isInstalled ? await runTrial(machine, user) : "",
    tunable: (name) => textOf(join("/proc/sys", name)),
    isContainer: existsSync("/.dockerenv") || existsSync("/run/.containerenv"),
  });
}

async function runTrial(machine: MachineView, user: RunnerUser | null): Promise<string> {
  const command = sandboxCommand({
    machine,
    mounts: [],
    temporary: "/tmp",
    cwd: "/",
    hasNetwork: true,
    command: ["true"],
  });
  const child = Bun.spawn(user === null ? command : asUser(user, command), {
    cwd: "/",
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    timeout: trialMs,
    killSignal: "SIGKILL",
  });
  const output = (await new Response(child.stderr).text()).trim();
  const exitCode = await child.exited;
  return exitCode === 0 ? "" : output || `bwrap ended with ${exitCode}`;
}

/** The cause, as far as the machine shows it, and what to set. */
export function sandboxFault({ isInstalled, output, tunable, isContainer }: Trial): string | null {
  if (!isInstalled)
    return "bubblewrap is not installed: install the package bubblewrap (program bwrap, 0.8 or newer)";
  if (output === "") return null;
  if (/unknown option --disable-userns/i.test(output))
    return "bubblewrap is too old: install version 0.8 or newer";
  if (/max_user_namespaces/.test(output) || /read-only file system/i.test(output))
    return `/proc/sys is read-only here (${output}): remove ProtectKernelTunables=true from the unit, or start the container with --security-opt systempaths=unconfined`;
  if (tunable("kernel/apparmor_restrict_unprivileged_userns")?.trim() === "1")
    return `AppArmor forbids user namespaces (${output}), as on Ubuntu 24.04: allow them for bwrap with a profile (docs/operations.md has it), or for all programs with sysctl kernel.apparmor_restrict_unprivileged_userns=0`;
  if (tunable("kernel/unprivileged_userns_clone")?.trim() === "0")
    return `the kernel forbids user namespaces to ordinary users (${output}): sysctl kernel.unprivileged_userns_clone=1`;
  if (tunable("user/max_user_namespaces")?.trim() === "0")
    return `the kernel allows no user namespaces (${output}): sysctl user.max_user_namespaces=10000`;
  if (isContainer || /mount proc/i.test(output))
    return `this container does not allow namespaces (${output}): start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined, or run the runner outside of a container`;
  return `bwrap does not work (${output})`;
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
