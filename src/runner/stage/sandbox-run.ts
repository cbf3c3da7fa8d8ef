import { isIn, type MachineView } from "../sandbox/machine-view.ts";
import { asUser, type RunnerUser } from "../sandbox/runner-user.ts";
import { type SandboxRun, sandboxCommand } from "../sandbox/sandbox-command.ts";
import { type SecretFiles, stepFilesFolder, writeStepFiles } from "./step-files.ts";

export interface SandboxedScript extends SandboxRun {
  /** Null: the runner's own user. */
  user: RunnerUser | null;
  /** Environment of the script, secrets included. */
  env: Record<string, string>;
  files: SecretFiles;
}

/** HOME in a container, and of an account that has none. */
export const usualHome = "/home/slipway";

/** Where HOME is in a sandbox: at the home of the account, because some programs, such as ssh, read no variable. */
export function sandboxHome({ readOnly, links }: MachineView, home: string): string {
  const taken = [...readOnly, ...links.map(({ path }) => path), "/proc", "/dev", "/run", "/tmp", "/var/tmp"];
  const isUsable = home.startsWith("/") && home !== "/" && !taken.some((path) => isIn(home, path));
  return isUsable ? home : usualHome;
}

/**
 * The first process of the sandbox. It sets the variables, because programs before it, bwrap among them, must not obey those of
 * a project, such as LD_PRELOAD.
 */
const firstProcess = `set -a; . ${stepFilesFolder}/env || exit 125; set +a
"$@"
code=$?
for stat in /proc/[0-9]*/stat; do
  [ "$stat" = /proc/1/stat ] && continue
  line=
  read -r line 2>/dev/null <"$stat" || continue
  case "\${line##*) }" in Z*|"") continue ;; esac
  echo "[processes that the script left in the background were ended]"
  break
done
exit "$code"`;

/** The command that runs a script in a sandbox, and the folder to remove after it. */
export function sandboxRun({ user, env, files, command, ...run }: SandboxedScript): {
  command: string[];
  stepFiles: string;
} {
  const stepFiles = writeStepFiles(env, files, user);
  const sandboxed = sandboxCommand({
    ...run,
    mounts: [...run.mounts, { source: stepFiles, target: stepFilesFolder, isReadOnly: true }],
    command: ["sh", "-c", firstProcess, "sh", ...command],
  });
  return { command: user === null ? sandboxed : asUser(user, sandboxed), stepFiles };
}
