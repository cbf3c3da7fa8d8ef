import { mkdirSync } from "node:fs";
import { join } from "node:path";

/** A repository whose branches advance by one commit per push. */
export interface Commits {
  url: string;
  /** Moves the branch to its next commit and returns it. */
  push(branch: string): Promise<string>;
}

const commitCount = 4_000;

export async function makeCommits(folder: string): Promise<Commits> {
  const url = join(folder, "shop.git");
  mkdirSync(url, { recursive: true });
  await git(url, ["init", "-q", "--bare", "-b", "main", "."]);
  await git(url, ["fast-import", "--quiet"], fastImport());
  const commits = (await git(url, ["rev-list", "--reverse", "all"])).split("\n");
  let next = 0;
  return {
    url,
    async push(branch) {
      const commit = commits[next++ % commits.length] ?? "";
      await git(url, ["update-ref", `refs/heads/${branch}`, commit]);
      return commit;
    },
  };
}

/** One file with its version, and a history as long as the run needs. */
function fastImport(): string {
  const parts: string[] = [];
  for (let number = 1; number <= commitCount; number++) {
    const message = `version ${number}`;
    parts.push(
      "commit refs/heads/all",
      `committer Ann <ann@example.com> ${1_700_000_000 + number} +0000`,
      `data ${message.length}`,
      message,
      "M 644 inline version.txt",
      `data ${message.length}`,
      message,
    );
  }
  return `${parts.join("\n")}\n`;
}

async function git(folder: string, command: string[], input = ""): Promise<string> {
  const child = Bun.spawn(["git", "-c", "safe.directory=*", ...command], {
    cwd: folder,
    env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, problems, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`git ${command[0]}: ${problems}`);
  return output.trim();
}
