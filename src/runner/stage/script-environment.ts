import { isAbsolute } from "node:path";
import { ownFolder } from "../../own-command.ts";
import type { CheckedOut } from "../checkout/checkout.ts";
import { proxyVariables } from "../checkout/git-environment.ts";
import type { RunTask } from "../protocol.ts";

/** Of the runner's own environment, scripts get only what a program needs to run at all. */
const passedOn = [
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TZ",
  "TMPDIR",
  ...proxyVariables,
];

/** A process is refused when one variable is longer than 128 KiB; texts of strangers stay far below. */
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

/** Environment of a stage: the allow-list, the project's own, its secrets, then CI_*, which nothing replaces. */
export function scriptEnvironment(
  instruction: RunTask,
  checkedOut: CheckedOut,
  place: { stage: string; workspace: string },
  own: Record<string, string | undefined>,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of passedOn) {
    const value = own[name];
    if (value !== undefined) env[name] = value;
  }
  env.PATH = cleanPath(own.PATH);
  Object.assign(env, instruction.env, instruction.secrets, {
    CI: "true",
    CI_TASK_ID: String(instruction.taskId),
    CI_PROJECT_ID: String(instruction.projectId),
    CI_ATTEMPT: String(instruction.attempt),
    CI_REF: instruction.ref,
    CI_COMMIT: checkedOut.commit,
    CI_MESSAGE: checkedOut.message.slice(0, textMaxLength),
    CI_AUTHOR: (instruction.env.CI_AUTHOR || checkedOut.author).slice(0, textMaxLength),
    CI_STAGE: place.stage,
    CI_WORKSPACE: place.workspace,
  });
  for (const [name, value] of Object.entries(env)) env[name] = value.replaceAll("\0", "");
  return env;
}
