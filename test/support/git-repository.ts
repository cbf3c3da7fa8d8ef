import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "./temporary-folder.ts";

/** A bare repository, and a working copy to push from. */
export interface GitRepository {
  /** Path of the bare repository. */
  url: string;
  /** Commits these files on a branch and pushes it; returns the commit. */
  push(
    files: Record<string, string>,
    options?: { message?: string; branch?: string; force?: boolean },
  ): Promise<string>;
  git(...args: string[]): Promise<string>;
  /** Installs a hook of the bare repository. */
  hook(name: string, script: string): void;
  /** Removes it before the end of the run. */
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

export async function makeRepository(): Promise<GitRepository> {
  const root = temporaryFolder("git");
  const bare = join(root, "shop.git");
  const copy = join(root, "copy");
  // Not spawnSync: a hook may call the server under test, which lives in this process.
  const git = async (...args: string[]) => {
    const child = Bun.spawn(["git", ...args], {
      cwd: copy,
      env: { ...process.env, ...identity },
      stderr: "pipe",
    });
    const [output, problems] = [new Response(child.stdout).text(), new Response(child.stderr).text()];
    if ((await child.exited) !== 0) throw new Error(`git ${args.join(" ")}: ${await problems}`);
    return (await output).trim();
  };
  mkdirSync(copy);
  await git("init", "-q", "--bare", "-b", "main", bare);
  await git("init", "-q", "-b", "main", ".");
  await git("remote", "add", "origin", bare);
  return {
    url: bare,
    git,
    async push(files, { message = "Change", branch = "main", force = false } = {}) {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(copy, path)), { recursive: true });
        writeFileSync(join(copy, path), text);
      }
      await git("add", "-A");
      await git("commit", "-q", "--allow-empty", "-m", message);
      await git("push", "-q", ...(force ? ["--force"] : []), "origin", `HEAD:refs/heads/${branch}`);
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
