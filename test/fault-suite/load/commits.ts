import { mkdirSync } from "node:fs";
import { join } from "node:path";

/** A repository whose branches advance with each push. */
export interface Commits {
  url: string;
  /** Moves the branch to its next commit, or to the next commit that does not start, and returns it. */
  push(branch: string, isBroken?: boolean): Promise<string>;
  isBroken(commit: string): boolean;
}

/** Every fifth commit does not start; projects without a service do not notice. */
const brokenEvery = 5;

/** `count` must last for the longest part of a run: a branch that moves back loses its commits. */
export async function makeCommits(folder: string, name = "shop", count = 4_000): Promise<Commits> {
  const url = join(folder, `${name}.git`);
  mkdirSync(url, { recursive: true });
  await git(url, ["init", "-q", "--bare", "-b", "main", "."]);
  await git(url, ["fast-import", "--quiet"], fastImport(count));
  const commits = (await git(url, ["rev-list", "--reverse", "all"])).split("\n");
  const placeOf = new Map(commits.map((commit, place) => [commit, place]));
  const isBrokenPlace = (place: number) => (place + 1) % brokenEvery === 0;
  let next = 0;
  return {
    url,
    async push(branch, isBroken) {
      while (isBroken !== undefined && isBrokenPlace(next) !== isBroken) next++;
      const commit = commits[next++ % commits.length] ?? "";
      await git(url, ["update-ref", `refs/heads/${branch}`, commit]);
      return commit;
    },
    isBroken: (commit) => isBrokenPlace(placeOf.get(commit) ?? 0),
  };
}

/** One file with its version, and a history as long as the run needs. */
function fastImport(commitCount: number): string {
  const parts: string[] = [];
  for (let number = 1; number <= commitCount; number++) {
    const message = `${number % brokenEvery === 0 ? "broken" : "version"} ${number}`;
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
