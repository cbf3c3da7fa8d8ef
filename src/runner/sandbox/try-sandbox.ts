import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { newReason, type Sentence } from "../../reason/reason.ts";
import type { MachineView } from "./machine-view.ts";
import { asUser, type RunnerUser } from "./runner-user.ts";
import { sandboxCommand } from "./sandbox-command.ts";

const trialMs = 10_000;
/** Of what bwrap printed, in the log and in the report to the server. */
const outputMaxLength = 500;

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
export async function trySandbox(machine: MachineView, user: RunnerUser | null): Promise<Sentence | null> {
  if (process.platform !== "linux") return newReason("no_sandbox_linux");
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
  const output = (await new Response(child.stderr).text()).trim().slice(0, outputMaxLength);
  const exitCode = await child.exited;
  return exitCode === 0 ? "" : output || `bwrap ended with ${exitCode}`;
}

/** The cause, as far as the machine shows it, and what to set. */
export function sandboxFault({ isInstalled, output, tunable, isContainer }: Trial): Sentence | null {
  if (!isInstalled) return newReason("no_sandbox_installed");
  if (output === "") return null;
  if (/unknown option --disable-userns/i.test(output)) return newReason("no_sandbox_old");
  if (/max_user_namespaces/.test(output) || /read-only file system/i.test(output))
    return newReason("no_sandbox_proc", { output });
  if (tunable("kernel/apparmor_restrict_unprivileged_userns")?.trim() === "1")
    return newReason("no_sandbox_apparmor", { output });
  if (tunable("kernel/unprivileged_userns_clone")?.trim() === "0")
    return newReason("no_sandbox_users", { output });
  if (tunable("user/max_user_namespaces")?.trim() === "0") return newReason("no_sandbox_limit", { output });
  if (isContainer || /mount proc/i.test(output)) return newReason("no_sandbox_container", { output });
  return newReason("no_sandbox_other", { output });
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
