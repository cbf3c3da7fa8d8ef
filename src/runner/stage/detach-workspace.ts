import { chmodSync, chownSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { ReasonError } from "../../errors.ts";
import { newReason } from "../../reason/reason.ts";
import { asUser, type RunnerUser } from "../sandbox/runner-user.ts";
import type { LinkedFolder } from "../workspace/cache-folders.ts";
import { removeFolder } from "../workspace/remove-folder.ts";

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

/**
 * Gives the workspace its own copy of files with further names elsewhere, such as those that pnpm links from its store:
 * whoever writes to the other name would change the workspace.
 */
export async function cutHardLinks(
  source: string,
  user: RunnerUser | null,
  stop: AbortSignal,
): Promise<void> {
  const find = ["find", source, "-type", "f", "-links", "+1", "-print", "-quit"];
  if ((await run(commandAs(user, find), stop)) === "") return;
  const copy = `${source}.copy`;
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { mode: 0o700 });
  if (user !== null) chownSync(copy, user.uid, user.gid);
  await run(commandAs(user, ["sh", "-c", copyFolder, "sh", source, copy]), stop);
  chmodSync(copy, 0o700);
  await removeFolder(source);
  renameSync(copy, source);
}

function commandAs(user: RunnerUser | null, command: string[]): string[] {
  return user === null ? command : asUser(user, command);
}

/** As the scripts' user: what the script left may be links to files that only the runner can read. */
async function run(command: string[], stop: AbortSignal): Promise<string> {
  const child = Bun.spawn(command, {
    cwd: "/",
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    signal: stop,
  });
  const [printed, problems] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) === 0) return printed;
  throw new ReasonError(newReason("workspace_not_copied", { message: problems.trim().slice(-500) }));
}
