import { isAbsolute } from "node:path";
import { proxyVariables } from "../../git/git-environment.ts";
import { ownFolder } from "../../own-command.ts";
import type { CheckedOut } from "../checkout/checkout.ts";
import type { RunTask } from "../protocol.ts";
import { asUser, type RunnerUser } from "../sandbox/runner-user.ts";

/** Of the runner's own environment, scripts receive only the variables that every program needs. */
const ofAccount = ["HOME", "USER", "LOGNAME", "SHELL", "TMPDIR"];
const ofMachine = ["LANG", "LC_ALL", "LC_CTYPE", "TZ", ...proxyVariables];

/** The kernel refuses a variable longer than 128 KiB; text from other people is cut far below that. */
const textMaxLength = 8192;

const systemPath = "/usr/local/bin:/usr/bin:/bin";

/** Without the folders that npm puts in front while it starts this program, and without the program's own tools. */
function cleanPath(path = ""): string {
  const own = ownFolder();
  const isForeign = (folder: string) =>
    isAbsolute(folder) &&
    !/(^|\/)node_modules\/(\.bin|npm\/|@npmcli\/)/.test(folder) &&
    !(own !== null && `${folder}/`.startsWith(`${own}/`));
  return [...new Set(path.split(":").filter(isForeign))].join(":") || systemPath;
}

/** Variables of a step: those of the instruction, its secrets, then those of the checkout and the step. */
export function stageVariables(
  instruction: RunTask,
  checkedOut: CheckedOut,
  place: { stage: string; step: string; workspace: string },
): Record<string, string> {
  const variables: Record<string, string> = {
    ...instruction.env,
    ...instruction.secrets,
    ...(place.stage === "build" ? {} : instruction.deploySecrets),
    CI: "true",
    CI_TASK_ID: String(instruction.taskId),
    CI_PROJECT_ID: String(instruction.projectId),
    CI_ATTEMPT: String(instruction.attempt),
    CI_REF: instruction.ref,
    CI_COMMIT: checkedOut.commit,
    CI_MESSAGE: checkedOut.message.slice(0, textMaxLength),
    CI_AUTHOR: (instruction.env.CI_AUTHOR || checkedOut.author).slice(0, textMaxLength),
    CI_STAGE: place.stage,
    CI_STEP: place.step,
    CI_WORKSPACE: place.workspace,
  };
  for (const [name, value] of Object.entries(variables)) variables[name] = value.replaceAll("\0", "");
  return variables;
}

/** On this machine: the account that runs the script, and the machine's language, time zone and proxies. */
export function hostEnvironment(
  own: Record<string, string | undefined>,
  user: { name: string; home: string; shell: string } | null,
  variables: Record<string, string>,
): Record<string, string> {
  const account =
    user === null
      ? chosen(own, ofAccount)
      : { HOME: user.home, USER: user.name, LOGNAME: user.name, SHELL: user.shell };
  return { PATH: cleanPath(own.PATH), ...account, ...chosen(own, ofMachine), ...variables };
}

/** In a container, the image determines PATH and HOME. */
export function containerEnvironment(
  own: Record<string, string | undefined>,
  variables: Record<string, string>,
): Record<string, string> {
  return { ...chosen(own, ofMachine), ...variables };
}

/** Variables that a shell sets itself. To assign one of them may end the shell: `UID` is read-only in bash. */
const ofShell = ["UID", "EUID", "PPID", "GROUPS", "OPTIND", "SHELLOPTS", "BASHOPTS", "BASH_VERSINFO"];

/** A shell command that sets a variable, unless this shell refuses the name. */
export function guarded(name: string, set: string): string {
  return ofShell.includes(name) ? `if (${set}) 2>/dev/null; then ${set}; fi` : set;
}

const variablePrefix = "SLIPWAY_VARIABLE_";

/**
 * The command of a script as run by this account, and the environment to start it with. `setpriv` still runs as root, where
 * a PATH or an LD_PRELOAD of the project would run the project's code. So the variables have other names until the account
 * has changed.
 */
export function scriptAsUser(
  user: RunnerUser,
  command: string[],
  variables: Record<string, string>,
  ownPath: string,
): { command: string[]; env: Record<string, string> } {
  const passed = Object.entries(variables);
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

/** Where the runner finds programs, also those that it runs as root. */
export function ownPathOf(own: Record<string, string | undefined>): string {
  return own.PATH || systemPath;
}

function chosen(own: Record<string, string | undefined>, names: string[]): Record<string, string> {
  const found = names.map((name) => [name, own[name]] as const);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
