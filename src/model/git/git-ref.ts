import { z } from "zod";
import { ruleText } from "../../reason/rule-text.ts";

/** Longest accepted ref name: file systems limit a path component to 255 bytes. */
const refMaxBytes = 255;

/** What git refuses in a ref name, and every character with a meaning in a shell. */
const unsafeInRef = /[\s~^:?*[\]\\$`;|&<>(){}"'!]|\p{Cc}|\.\.|@\{|\/\/|\/\.|\.\/|\.lock(\/|$)/u;

/**
 * Whether a ref, full or short, may be passed to git and to scripts. Git allows `$(id)` as a branch name; we do not,
 * because scripts use it as CI_REF.
 */
export function isSafeRef(ref: string): boolean {
  if (ref.length === 0 || Buffer.byteLength(ref) > refMaxBytes) return false;
  // A name that looks like an option would be one after a program strips refs/heads/.
  if (/^[-/.@]|^refs\/[a-z]+\/-/.test(ref) || /[/.]$/.test(ref)) return false;
  return !unsafeInRef.test(ref);
}

/** A branch or tag that may be passed to git, full or short. */
export const gitRef = z
  .string()
  .refine((ref) => isSafeRef(ref) && isSafeRef(toFullRef(ref)), ruleText("ref_invalid"))
  .meta({ example: "main" });

/** A full object name: SHA-1 or SHA-256 in hex. All zeros mean "no commit". */
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
