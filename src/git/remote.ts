import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ReasonError } from "../errors.ts";
import { isCommit, toShortRef } from "../model/git/git-ref.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import { checkAddress } from "./checked-address.ts";
import { type GitRemote, openGitEnvironment } from "./git-environment.ts";
import { gitFault } from "./git-fault.ts";
import { connectionFault, isTooSlow, silenceReason } from "./host-connection.ts";
import { lastFault } from "./last-fault.ts";
import { type GitRun, runGit } from "./run-git.ts";

/** A reason for people why git could not read a repository. */
export class RemoteError extends ReasonError {
  override readonly name = "RemoteError";
}

/** A branch or tag at the host. */
export interface RemoteRef {
  /** The commit; for an annotated tag, its commit, not the tag object. */
  commit: string;
  /** What the ref itself names: of an annotated tag, the tag. */
  object: string;
}

export interface RemoteCommit {
  commit: string;
  message: string;
  author: string;
  /** Paths that differ from the earlier commit; null: unknown. */
  paths: string[] | null;
  pathsUnknownBecause: Reason | null;
}

export interface RemoteFiles {
  paths: string[];
  /** Text by path. Larger files are cut off. */
  texts: Map<string, string>;
}

/** Reads a repository at its host. Credentials are in a folder that `close` removes. */
export interface Remote {
  /** The branches, the tags, or both, by their full names. */
  refs(kinds: readonly ("heads" | "tags")[]): Promise<Map<string, RemoteRef>>;
  /** The branches and the default branch; null: the repository is empty. */
  branches(): Promise<{ names: string[]; default: string | null }>;
  /** The files of a ref, and the text of those that `wanted` chooses. Of a very large repository, those in the root. */
  files(ref: string, wanted: (paths: string[]) => string[]): Promise<RemoteFiles>;
  /** The commit that a ref has now. `earlier`: the commit to compare its paths with, if known. */
  commitOf(ref: string, earlier: string | null): Promise<RemoteCommit>;
  /** Paths that differ between two commits; null: unknown. */
  pathsBetween(earlier: string, commit: string): Promise<Pick<RemoteCommit, "paths" | "pathsUnknownBecause">>;
  close(): void;
}

export interface RemoteOptions {
  remote: GitRemote;
  /** Whether this server may connect to internal addresses that are not trusted. */
  allowInternal: boolean;
  /** Folder for temporary files. */
  temp: string;
  knownHosts: string;
  env: Record<string, string | undefined>;
  stop: AbortSignal;
  /** Called before each git command; throws if the work may not go on. */
  beforeEach(): Promise<void>;
}

export const gitTimeoutMs = 60_000;
const maxListBytes = 16 * 1024 * 1024;
/** A longer list of changed paths counts as unknown, as in the payload of a host. */
const maxPaths = 10_000;
const newRef = "refs/slipway/new";
const separator = "\0";

/** Rejects with RemoteError if this server must not connect to the address. */
export async function openRemote(options: RemoteOptions): Promise<Remote> {
  const { remote, temp } = options;
  const rules = { allowInternal: options.allowInternal || remote.allowLocal, trusted: remote.trusted };
  const checked = await checkAddress(remote.url, rules, options.env);
  if (!("git" in checked)) throw new RemoteError(newReason("git_repository", { why: checked }));
  const fault = await connectionFault(remote.url, options.env, options.stop, checked.address);
  if (fault) throw new RemoteError(newReason("git_repository", { why: fault }));
  const folder = mkdtempSync(join(temp, "remote-"));
  const environment = openGitEnvironment(
    remote,
    { temp: folder, knownHosts: options.knownHosts },
    options.env,
    checked,
  );
  let clones = 0;

  async function git(...args: string[]): Promise<GitRun> {
    await options.beforeEach();
    return runGit({
      args,
      env: environment.env,
      cwd: folder,
      timeoutMs: gitTimeoutMs,
      maxOutputBytes: maxListBytes,
      stop: options.stop,
    });
  }

  async function must(refusal: (why: Reason) => Reason, ...args: string[]): Promise<string> {
    const run = await git(...args);
    if (run.end === "exited" && run.exitCode === 0) return run.output;
    throw new RemoteError(refusal(whyOf(run, remote)));
  }

  /** A clone that holds nothing yet. */
  async function emptyClone(): Promise<string> {
    const clone = join(folder, `clone-${++clones}`);
    await must((why) => newReason("git_clone", { why }), "init", "-q", "--bare", "--", clone);
    const url = remote.url.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
    appendFileSync(
      join(clone, "config"),
      `[remote "origin"]\n\turl = "${url}"\n\tpromisor = true\n\tpartialclonefilter = blob:none\n`,
    );
    return clone;
  }

  /** The trees are enough to compare paths; hosts that cannot leave out files send them too. */
  const fetchInto = (clone: string, wanted: string) => [
    "--git-dir",
    clone,
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--depth=1",
    "--filter=blob:none",
    "origin",
    wanted,
  ];

  async function changedPaths(
    clone: string,
    earlier: string | null,
    commit: string,
  ): Promise<Pick<RemoteCommit, "paths" | "pathsUnknownBecause">> {
    if (earlier === null) return unknown(newReason("paths_ref_new"));
    const fetched = await git(...fetchInto(clone, earlier));
    if (fetched.exitCode !== 0) return unknown(newReason("paths_gone"));
    const compared = await git(
      "--git-dir",
      clone,
      "diff-tree",
      "-r",
      "-z",
      "--name-only",
      "--no-renames",
      "--end-of-options",
      earlier,
      commit,
    );
    if (compared.end !== "exited" || compared.exitCode !== 0) return unknown(newReason("paths_not_compared"));
    const paths = compared.output.split(separator).filter((path) => path !== "");
    return paths.length > maxPaths
      ? unknown(newReason("paths_many", { number: maxPaths }))
      : { paths, pathsUnknownBecause: null };
  }

  return {
    async refs(kinds) {
      const patterns = kinds.map((kind) => `refs/${kind}/*`);
      const refusal = (why: Reason) => newReason("git_refs", { why });
      return parsed(await must(refusal, "ls-remote", "--quiet", "--", remote.url, ...patterns));
    },
    async branches() {
      const refusal = (why: Reason) => newReason("git_repository", { why });
      const args = ["ls-remote", "--quiet", "--symref", "--", remote.url, "HEAD", "refs/heads/*"];
      return branchesIn(await must(refusal, ...args));
    },
    async files(ref, wanted) {
      const refusal = notFetched(ref);
      const clone = await emptyClone();
      try {
        await must(refusal, ...fetchInto(clone, `+${ref}:${newRef}`));
        const list = ["--git-dir", clone, "ls-tree", "-z", "--name-only"];
        const all = await git(...list, "-r", newRef);
        const isListed = all.end === "exited" && all.exitCode === 0;
        const listed = isListed ? all.output : await must(refusal, ...list, newRef);
        const paths = listed.split(separator).filter(Boolean);
        const texts = new Map<string, string>();
        for (const path of wanted(paths)) {
          const shown = await git("--git-dir", clone, "cat-file", "blob", `${newRef}:${path}`);
          if (shown.end === "exited" && shown.exitCode === 0) texts.set(path, shown.output);
        }
        return { paths, texts };
      } finally {
        rmSync(clone, { recursive: true, force: true });
      }
    },
    async commitOf(ref, earlier) {
      const refusal = notFetched(ref);
      const clone = await emptyClone();
      try {
        await must(refusal, ...fetchInto(clone, `+${ref}:${newRef}`));
        const format = "--format=%H%x00%an%x00%B";
        const shown = await must(
          refusal,
          ...["--git-dir", clone, "log", "-1", "--no-show-signature", format],
          ...["--end-of-options", `${newRef}^{commit}`, "--"],
        );
        const [commit = "", author = "", message = ""] = shown.split(separator);
        if (!isCommit(commit)) throw new RemoteError(refusal(newReason("git_no_commit")));
        const isTag = ref.startsWith("refs/tags/");
        const changed = isTag ? unknown(newReason("paths_tag")) : await changedPaths(clone, earlier, commit);
        return { commit, author, message: message.trim(), ...changed };
      } finally {
        rmSync(clone, { recursive: true, force: true });
      }
    },
    async pathsBetween(earlier, commit) {
      const clone = await emptyClone();
      try {
        await must(notFetched(commit), ...fetchInto(clone, commit));
        return await changedPaths(clone, earlier, commit);
      } finally {
        rmSync(clone, { recursive: true, force: true });
      }
    },
    close() {
      environment.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function unknown(because: Reason): Pick<RemoteCommit, "paths" | "pathsUnknownBecause"> {
  return { paths: null, pathsUnknownBecause: because };
}

function parsed(list: string): Map<string, RemoteRef> {
  const refs = new Map<string, RemoteRef>();
  for (const line of list.split("\n")) {
    const [name = "", ref = ""] = line.split("\t");
    if (!isCommit(name)) continue;
    const peeled = ref.endsWith("^{}") ? ref.slice(0, -"^{}".length) : null;
    const known = refs.get(peeled ?? ref);
    refs.set(peeled ?? ref, { commit: name, object: peeled === null ? name : (known?.object ?? name) });
  }
  return refs;
}

function branchesIn(list: string): { names: string[]; default: string | null } {
  const lines = list.split("\n").map((line) => line.split("\t"));
  const prefix = "refs/heads/";
  const names = lines.flatMap(([, ref = ""]) => (ref.startsWith(prefix) ? [ref.slice(prefix.length)] : []));
  const head = lines.find(([target = "", ref]) => ref === "HEAD" && target.startsWith("ref: "))?.[0] ?? "";
  const chosen = head.replace(`ref: ${prefix}`, "");
  return { names, default: names.includes(chosen) ? chosen : (names[0] ?? null) };
}

function notFetched(ref: string) {
  return (why: Reason) => newReason("fetch_failed", { ref: toShortRef(ref), why });
}

function whyOf(run: GitRun, remote: GitRemote): Reason {
  if (run.end === "timeout") return newReason("git_no_answer", { seconds: gitTimeoutMs / 1000 });
  if (run.end === "silent" || isTooSlow(run.problems)) return silenceReason();
  if (run.end === "stopped") return newReason("git_stopped");
  if (run.end === "too much output") return newReason("git_list_long");
  const lines = run.problems.split("\n").filter((line) => line.trim() !== "");
  return (
    gitFault(run.problems, remote, "server") ??
    lastFault(lines) ??
    newReason("git_ended", { exitCode: String(run.exitCode) })
  );
}
