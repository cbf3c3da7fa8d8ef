import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Fault } from "../errors.ts";

/** A small Git repository on this machine, for trying a deploy without a Git host. */
export interface SampleRepository {
  /** Its path, which is also its clone URL. */
  path: string;
  /** Writes the next version and commits it. */
  commit(version?: { isBroken: boolean }): Promise<{ commit: string; message: string }>;
}

const author = {
  GIT_AUTHOR_NAME: "Sample",
  GIT_AUTHOR_EMAIL: "sample@localhost",
  GIT_COMMITTER_NAME: "Sample",
  GIT_COMMITTER_EMAIL: "sample@localhost",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
};

const page = (version: number) => `<!doctype html>
<title>Sample ${version}</title>
<h1>Hello from version ${version}</h1>
`;

/** Without the heading that the health check looks for. */
const brokenPage = (version: number) => `<!doctype html>
<title>Sample ${version}</title>
<p>The heading of version ${version} is missing.</p>
`;

const readme = `# Sample
A repository that Slipway made to show a deploy. It is deleted with its project.
`;

export async function makeSampleRepository(path: string): Promise<SampleRepository> {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  await git(path, "init", "-q", "-b", "main", ".");
  return openSampleRepository(path);
}

export function openSampleRepository(path: string): SampleRepository {
  return {
    path,
    async commit({ isBroken } = { isBroken: false }) {
      const version = Number(await git(path, "rev-list", "--count", "--all")) + 1;
      const written = isBroken ? brokenPage(version) : page(version);
      const files = { "README.md": readme, "site/index.html": written, VERSION: `${version}\n` };
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(path, name)), { recursive: true });
        writeFileSync(join(path, name), text);
      }
      const message = isBroken
        ? `Forget the heading of version ${version}`
        : `Say hello from version ${version}`;
      await git(path, "add", "-A");
      await git(path, "commit", "-q", "-m", message);
      return { commit: await git(path, "rev-parse", "HEAD"), message };
    },
  };
}

/**
 * The folder of a sample, from its clone address: a direct child of the samples folder with a name that only samples
 * get. Null for any other address, so that a changed address never selects another folder for deletion.
 */
export function sampleFolderOf(cloneUrl: string, samplesDir: string): string | null {
  const folder = dirname(cloneUrl);
  const isOwn =
    cloneUrl === join(folder, "repository") &&
    dirname(folder) === resolve(samplesDir) &&
    /^sample-[0-9a-f]{6}$/.test(basename(folder));
  return isOwn ? folder : null;
}

async function git(cwd: string, ...args: string[]): Promise<string> {
  const child = Bun.spawn(["git", ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? "", HOME: cwd, ...author },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, problems] = [new Response(child.stdout).text(), new Response(child.stderr).text()];
  if ((await child.exited) !== 0)
    throw new Fault(
      "unavailable",
      `git could not write to the sample repository: ${(await problems).trim()}`,
    );
  return (await output).trim();
}
