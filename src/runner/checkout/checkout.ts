import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ReasonError } from "../../errors.ts";
import { gitFault } from "../../git/git-fault.ts";
import { lastFault } from "../../git/last-fault.ts";
import { isCommit, isSafeRef, toFullRef, toShortRef } from "../../model/git/git-ref.ts";
import { type GitUrlRules, gitUrlFault } from "../../model/git/git-url.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import type { GitResult } from "./git-result.ts";
import { type FoundFile, readFileAt, type WantedFile } from "./read-file-at.ts";
import { trimClone } from "./trim-clone.ts";

const detailsMax = 1000;

/** A reason for people why the commit could not be checked out. */
export class CheckoutError extends ReasonError {
  override readonly name = "CheckoutError";
  /** Git's last output, for the log. */
  readonly details: string[];
  /** A function gets the reason of git: `why`, or the last error in its output. */
  constructor(reason: Reason | ((why: Reason) => Reason), output = "", why: Reason | null = null) {
    const details = output
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(-detailsMax);
    super(
      typeof reason === "function" ? reason(why ?? lastFault(details) ?? newReason("git_silent")) : reason,
    );
    this.details = details;
  }
}

class MissingRef extends CheckoutError {}

/** The host accepts no connection, or sends nothing: it is not asked again. */
export class SilentHost extends CheckoutError {}

export interface CheckoutOptions {
  repo: Pick<GitUrlRules, "allowLocal" | "trusted"> & {
    url: string;
    submodules: boolean;
    lfs?: boolean | undefined;
    isFork?: boolean | undefined;
    credential: { type: string } | null;
  };
  ref: string;
  commit: string | null;
  /** Bare repository of the project, kept between its tasks. */
  cache: string;
  /** Destination folder; must not exist. */
  target: string;
  /** A file to read besides, and the branch whose file it is; null: that of the commit. */
  file?: WantedFile | undefined;
  /** Runs git in the project's environment, or in one without its credential; throws if it is stopped. */
  git(args: string[], isAnonymous?: boolean): Promise<GitResult>;
  writeLine(text: string): void;
}

export interface CheckedOut {
  commit: string;
  message: string;
  author: string;
  /** What was asked for in `file`. */
  file?: FoundFile;
}

const builtRef = "refs/slipway/build";
const fileRef = "refs/slipway/pipeline";
/** Depths of history to fetch, step by step, until a pinned commit is found reachable; the last one is all of it. */
const historySteps = [50, 1000, 2_147_483_647];

/** Checks out the commit of a ref into a new folder. */
export async function checkout(options: CheckoutOptions): Promise<CheckedOut> {
  const { repo, writeLine } = options;
  const ref = toFullRef(options.ref);
  if (!isSafeRef(ref)) throw new CheckoutError(`The ref ${JSON.stringify(options.ref)} is not usable.`);
  if (options.commit !== null && !isCommit(options.commit))
    throw new CheckoutError(`${JSON.stringify(options.commit)} is not a commit.`);
  // The server has checked this too; a runner does not rely on that.
  const fault = gitUrlFault(repo.url, { ...repo, samplesDir: "" });
  if (fault) throw new CheckoutError(newReason("clone_url", { fault }));

  writeLine(`fetching ${toShortRef(ref)} of ${repo.url}`);
  const tip = await fetchTip(options, ref);
  const isTip = options.commit === null || options.commit.toLowerCase() === tip.commit;
  const checkedOut = isTip ? tip : await reach(options, ref, options.commit ?? "");

  await copyCommit(options, checkedOut.commit);
  if (repo.submodules) await fetchSubmodules(options);
  if (repo.lfs) await fetchLfsFiles(options);
  writeLine(`commit ${checkedOut.commit} ${firstLine(checkedOut.message)}`);
  if (!options.file) return checkedOut;
  return { ...checkedOut, file: await findFile(options, options.file, checkedOut.commit) };
}

/** What hosts say to a key that they know, and that may not read the repository. */
const keyOfOther =
  /Repository not found|not authorized|Unauthorized|denied|could not be found|Could not read from remote/i;

async function fetchSubmodules({ repo, target, git }: CheckoutOptions): Promise<void> {
  const args = ["-C", target, "submodule", "--quiet", "update", "--init", "--recursive", "--depth=1"];
  const { exitCode, output } = await git(args, repo.isFork);
  if (exitCode === 0) return;
  // The author of a fork chooses the addresses: the credential would read other repositories for them.
  const isAnonymous = repo.isFork === true && repo.credential !== null;
  const isOtherKey = !isAnonymous && repo.credential?.type === "ssh" && keyOfOther.test(output);
  const code = isAnonymous ? "submodules_fork" : isOtherKey ? "submodules_key" : "submodules_failed";
  throw new CheckoutError((why) => newReason(code, { why }), output);
}

/**
 * Makes a repository of its own with this one commit: scripts own it, and later changes of the clone do not reach it. The
 * objects are read from the clone until they are packed, which costs less than a fetch from it.
 */
async function copyCommit({ repo, cache, target, git }: CheckoutOptions, commit: string): Promise<void> {
  const inTarget = (...args: string[]) => git(["-C", target, ...args]);
  mkdirSync(target, { recursive: true });
  await must(git(["init", "-q", "--", target]), "workspace_not_made");
  const alternates = join(target, ".git/objects/info/alternates");
  mkdirSync(dirname(alternates), { recursive: true });
  writeFileSync(alternates, `${join(cache, "objects")}\n`);
  writeFileSync(join(target, ".git/shallow"), `${commit}\n`);
  const quotedUrl = repo.url.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  appendFileSync(join(target, ".git/config"), `[remote "origin"]\n\turl = "${quotedUrl}"\n`);
  const failure = "checkout_failed";
  await must(inTarget("checkout", "-q", "--force", "--detach", commit, "--"), failure);
  await must(inTarget("-c", "pack.window=0", "repack", "-a", "-d", "-q", "--no-write-bitmap-index"), failure);
  rmSync(alternates);
}

/**
 * The address is given, because a file of the repository (.lfsconfig) could name another repository for the credential.
 * Other commits that a script checks out keep their pointers: it has no credential to fetch them.
 */
async function fetchLfsFiles({ repo, target, git, writeLine }: CheckoutOptions): Promise<void> {
  const { exitCode } = await git(["lfs", "version"]);
  if (exitCode !== 0) throw new CheckoutError(newReason("lfs_missing"));
  writeLine("fetching the files of Git LFS");
  const steps = [
    ["lfs", "install", "--local", "--skip-smudge", "--skip-repo"],
    ["-c", `lfs.url=${lfsUrlOf(repo.url)}`, "lfs", "pull"],
  ];
  for (const step of steps) {
    const { exitCode, output } = await git(["-C", target, ...step]);
    if (exitCode === 0) continue;
    // The last line only says that something failed.
    const last = output.split("\n").findLast((line) => line.trim() !== "" && !/failed to fetch/i.test(line));
    throw new CheckoutError((why) => newReason("lfs_failed", { why }), output, last ?? null);
  }
}

/** Where a repository has its files, as git-lfs derives it from the address of a remote. */
function lfsUrlOf(url: string): string {
  if (url.startsWith("/")) return `file://${url}`;
  if (!/^https?:/i.test(url)) return url;
  const repository = url.replace(/\/+$/, "");
  return `${repository}${repository.endsWith(".git") ? "" : ".git"}/info/lfs`;
}

/** In the clone, not in the workspace: links of the commit are not followed. */
async function findFile(
  options: CheckoutOptions,
  { path, branch }: WantedFile,
  commit: string,
): Promise<FoundFile> {
  if (branch === null) return readFileAt(options, commit, path);
  const ref = toFullRef(branch);
  if (!isSafeRef(ref)) throw new CheckoutError(`The ref ${JSON.stringify(branch)} is not usable.`);
  const fetched = await fetch(options, ref, 1, fileRef);
  if (fetched.exitCode !== 0) throw notFetched(options, ref, fetched);
  return readFileAt(options, fileRef, path);
}

/** The current commit of the ref at its host. */
async function fetchTip(options: CheckoutOptions, ref: string): Promise<CheckedOut> {
  const { cache, git } = options;
  if (existsSync(join(cache, "HEAD"))) {
    const tip = await tipUnlessDamaged(options, ref);
    if (tip !== null) {
      await trimClone(cache, git);
      return tip;
    }
    options.writeLine("the cached clone cannot be used; fetching it anew");
  }
  rmSync(cache, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  await must(git(["init", "-q", "--bare", "--", cache]), "clone_not_made");
  return takeTip(options, ref);
}

/** Null: the host has the ref, but the cached clone is damaged. */
async function tipUnlessDamaged(options: CheckoutOptions, ref: string): Promise<CheckedOut | null> {
  try {
    return await takeTip(options, ref);
  } catch (error) {
    if (error instanceof MissingRef || error instanceof SilentHost || !(await isThere(options, ref)))
      throw error;
    return null;
  }
}

async function takeTip(options: CheckoutOptions, ref: string): Promise<CheckedOut> {
  const fetched = await fetch(options, ref, 1);
  if (fetched.exitCode === 0) return describeCommit(options, builtRef);
  if (/couldn't find remote ref|Remote branch .* not found/i.test(fetched.output))
    throw new MissingRef(missingText(ref, options.repo.url));
  throw notFetched(options, ref, fetched);
}

/**
 * Whether the host has the ref, checked without the cached clone. If it has, the clone is damaged: for example by a
 * lock file of a killed git, or a file that a power loss emptied. There are too many such errors to recognise them by
 * their text.
 */
async function isThere({ git, repo }: CheckoutOptions, ref: string): Promise<boolean> {
  const { exitCode } = await git(["ls-remote", "--quiet", "--exit-code", "--", repo.url, ref]);
  return exitCode === 0;
}

function notFetched({ repo }: CheckoutOptions, ref: string, { output }: GitResult): CheckoutError {
  const why = gitFault(output, repo, "runner");
  return new CheckoutError(
    (because) => newReason("fetch_failed", { ref: toShortRef(ref), why: because }),
    output,
    why,
  );
}

/** A short name means a branch: the error explains how to name a tag. */
function missingText(ref: string, url: string): Reason {
  const name = toShortRef(ref);
  return ref.startsWith("refs/heads/")
    ? newReason("branch_missing", { ref: name, url, tag: name })
    : newReason("ref_missing", { ref: name, url });
}

/** Always as a pack: git compares the objects of a pack with those that exist, so that a damaged object is found. */
function fetch(options: CheckoutOptions, ref: string, depth: number, into = builtRef): Promise<GitResult> {
  const how = ["--quiet", "--no-tags", "--force", "--no-write-fetch-head", `--depth=${depth}`];
  return options.git([
    "--git-dir",
    options.cache,
    "-c",
    "fetch.unpackLimit=1",
    "fetch",
    ...how,
    "--",
    options.repo.url,
    `+${ref}:${into}`,
  ]);
}

/**
 * A pinned commit that is not the tip must be part of the ref's current history at the host. Each fetch may find another
 * tip, because a replica of the host may be behind.
 */
async function reach(options: CheckoutOptions, ref: string, commit: string): Promise<CheckedOut> {
  for (const depth of [0, ...historySteps]) {
    if (depth > 0) {
      const fetched = await fetch(options, ref, depth);
      if (fetched.exitCode !== 0) throw notFetched(options, ref, fetched);
    }
    const ancestor = await options.git([
      "--git-dir",
      options.cache,
      "merge-base",
      "--is-ancestor",
      commit,
      builtRef,
    ]);
    if (ancestor.exitCode === 0) return describeCommit(options, commit);
  }
  throw new CheckoutError(newReason("commit_unreachable", { commit, ref: toShortRef(ref) }));
}

async function describeCommit({ cache, git }: CheckoutOptions, revision: string): Promise<CheckedOut> {
  const shown = await must(
    git([
      "--git-dir",
      cache,
      "log",
      "-1",
      "--no-show-signature",
      "--format=%B%n%an%n%H",
      "--end-of-options",
      revision,
      "--",
    ]),
    "commit_unreadable",
  );
  // The message comes first, because only the end of a very long output is kept.
  const lines = shown.trimEnd().split("\n");
  const [author = "", commit = ""] = lines.splice(-2);
  return { commit, author, message: lines.join("\n").trim() };
}

type Failure = "workspace_not_made" | "clone_not_made" | "checkout_failed" | "commit_unreadable";

async function must(running: Promise<GitResult>, otherwise: Failure): Promise<string> {
  const result = await running;
  if (result.exitCode !== 0) throw new CheckoutError((why) => newReason(otherwise, { why }), result.output);
  return result.output;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
