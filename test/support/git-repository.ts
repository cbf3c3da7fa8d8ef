import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A real repository that people push to, with a working copy to push from. */
export interface GitRepository {
  /** Path of the bare repository. */
  url: string;
  /** Commits these files on a branch and pushes it; answers the commit. */
  push(
    files: Record<string, string>,
    options?: { message?: string; branch?: string; force?: boolean },
  ): string;
  git(...args: string[]): string;
  /** Installs a hook of the bare repository. */
  hook(name: string, script: string): void;
  remove(): void;
}

const identity = {
  GIT_AUTHOR_NAME: "Ann",
  GIT_AUTHOR_EMAIL: "ann@example.com",
  GIT_COMMITTER_NAME: "Ann",
  GIT_COMMITTER_EMAIL: "ann@example.com",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
};

export function makeRepository(): GitRepository {
  const root = mkdtempSync(join(tmpdir(), "slipway-git-"));
  const bare = join(root, "shop.git");
  const copy = join(root, "copy");
  const git = (...args: string[]) => {
    const result = Bun.spawnSync(["git", ...args], { cwd: copy, env: { ...process.env, ...identity } });
    if (result.exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${result.stderr.toString()}`);
    return result.stdout.toString().trim();
  };
  mkdirSync(copy);
  git("init", "-q", "--bare", "-b", "main", bare);
  git("init", "-q", "-b", "main", ".");
  git("remote", "add", "origin", bare);
  return {
    url: bare,
    git,
    push(files, { message = "Change", branch = "main", force = false } = {}) {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(copy, path)), { recursive: true });
        writeFileSync(join(copy, path), text);
      }
      git("add", "-A");
      git("commit", "-q", "--allow-empty", "-m", message);
      git("push", "-q", ...(force ? ["--force"] : []), "origin", `HEAD:refs/heads/${branch}`);
      return git("rev-parse", "HEAD");
    },
    hook(name, script) {
      const file = join(bare, "hooks", name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, script);
      chmodSync(file, 0o755);
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}
