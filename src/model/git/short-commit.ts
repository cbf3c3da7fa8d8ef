/** A commit as people read it, everywhere equally long. */
export function shortCommit(commit: string): string {
  return commit.slice(0, 7);
}
