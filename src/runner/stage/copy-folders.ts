import { ReasonError } from "../../errors.ts";
import { newReason } from "../../reason/reason.ts";
import { asUser, type RunnerUser } from "../sandbox/runner-user.ts";
import type { LinkedFolder } from "../workspace/cache-folders.ts";

/** Not their owners, which an ordinary user may not set; the second form is for systems other than GNU's. */
const copyFolder =
  '{ cp -dR --preserve=mode,timestamps,links -- "$1/." "$2" 2>/dev/null || cp -RPp -- "$1/." "$2"; }';

/** Replaces the links to caches by copies: later builds write to the caches, and must not change what is deployed. */
export async function copyCaches(
  linked: LinkedFolder[],
  user: RunnerUser | null,
  stop: AbortSignal,
): Promise<void> {
  for (const { kept, link } of linked)
    await run(
      commandAs(user, ["sh", "-c", `rm -- "$2" && mkdir -- "$2" && ${copyFolder}`, "sh", kept, link]),
      stop,
    );
}

/** Copies the contents of a folder into an empty one. */
export async function copyInto(
  from: string,
  to: string,
  user: RunnerUser | null,
  stop: AbortSignal,
): Promise<void> {
  await run(commandAs(user, ["sh", "-c", copyFolder, "sh", from, to]), stop);
}

function commandAs(user: RunnerUser | null, command: string[]): string[] {
  return user === null ? command : asUser(user, command);
}

/** As the scripts' user: what the script left may be links to files that only the runner can read. */
async function run(command: string[], stop: AbortSignal): Promise<void> {
  const child = Bun.spawn(command, {
    cwd: "/",
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    signal: stop,
  });
  const problems = await new Response(child.stderr).text();
  if ((await child.exited) === 0) return;
  throw new ReasonError(newReason("workspace_not_copied", { message: problems.trim().slice(-500) }));
}
