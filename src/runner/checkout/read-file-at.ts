import { newReason, type Reason } from "../../reason/reason.ts";
import type { GitResult } from "./git-result.ts";

export interface WantedFile {
  path: string;
  /** Null: that of the commit that is built. */
  branch: string | null;
}

/** Its text, or why it cannot be read. */
export type FoundFile = { text: string } | { fault: Reason };

/** Less than the output of git that is kept. */
const maxBytes = 200_000;
const regularModes = ["100644", "100755"];

/** A file of a commit in a bare repository. */
export async function readFileAt(
  { cache, git }: { cache: string; git(args: string[]): Promise<GitResult> },
  revision: string,
  path: string,
): Promise<FoundFile> {
  const inClone = (...args: string[]) => git(["--git-dir", cache, "--literal-pathspecs", ...args]);
  const listed = await inClone("ls-tree", "--full-tree", "--long", "-z", revision, "--", path);
  const [, mode = "", id = "", size = ""] = /^(\d+) \w+ ([0-9a-f]+) +(\d+|-)\t/.exec(listed.output) ?? [];
  if (listed.exitCode !== 0 || id === "") return { fault: newReason("file_missing", { path }) };
  if (!regularModes.includes(mode)) return { fault: newReason("file_not_regular", { path }) };
  if (Number(size) > maxBytes) return { fault: newReason("file_large", { path, bytes: maxBytes }) };
  const { exitCode, output } = await inClone("cat-file", "blob", id);
  return exitCode === 0 ? { text: output } : { fault: newReason("file_missing", { path }) };
}
