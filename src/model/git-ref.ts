/** Largest ref name we take: file systems end at 255 bytes a component, and no people's branch is longer. */
const refMaxBytes = 255;

/** What git refuses in a ref name, and every character that means something to a shell. */
const unsafeInRef = /[\s~^:?*[\]\\$`;|&<>(){}"'!]|\p{Cc}|\.\.|@\{|\/\/|\/\.|\.\/|\.lock(\/|$)/u;

/**
 * Whether a ref, full or short, may be handed to git and to scripts. Git itself would allow `$(id)` as a branch name;
 * we do not, because scripts of users see it in CI_REF.
 */
export function isSafeRef(ref: string): boolean {
  if (ref.length === 0 || Buffer.byteLength(ref) > refMaxBytes) return false;
  // A name that looks like an option stays one when a program strips refs/heads/ from it.
  if (/^[-/.@]|^refs\/[a-z]+\/-/.test(ref) || /[/.]$/.test(ref)) return false;
  return !unsafeInRef.test(ref);
}

/** A whole object name: SHA-1 or SHA-256 in hex, not the all-zero name of "nothing". */
export function isCommit(commit: string): boolean {
  return /^([0-9a-f]{40}|[0-9a-f]{64})$/i.test(commit) && !/^0+$/.test(commit);
}

/** `main` → `refs/heads/main`; a full ref stays as it is. */
export function toFullRef(ref: string): string {
  return ref.startsWith("refs/") ? ref : `refs/heads/${ref}`;
}

/** `refs/heads/main` → `main`, `refs/tags/v1` → `v1`. */
export function toShortRef(ref: string): string {
  return ref.replace(/^refs\/(heads|tags)\//, "");
}

/** Whether a full ref names a branch or a tag, and not another kind of ref. */
export function isBranchOrTag(ref: string): boolean {
  return ref.startsWith("refs/heads/") || ref.startsWith("refs/tags/");
}
