import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { progress, run, ServiceUnavailable, serviceCache } from "./service-install.ts";

const env = { GOFLAGS: "-mod=mod", GOSUMDB: "off", CGO_ENABLED: "1" };

export interface GoModule {
  /** For people, with its version. */
  title: string;
  module: string;
  version: string;
  program: string;
  /** Folders of the module that the program needs. */
  folders: string[];
  /** Arguments of `go` before the build. */
  prepare?: string[];
  /** Arguments of `go build`. */
  build: string[];
  /** Names a folder with the program. */
  variable: string;
}

let builds: Promise<unknown> = Promise.resolve();

/** One build after the other: they share packages, which builds at the same time would each compile. */
export function inBuildQueue<T>(build: () => Promise<T>): Promise<T> {
  const result = builds.then(build);
  builds = result.catch(() => {});
  return result;
}

/** The folder with a program that was built from the Go module proxy into the user's cache: once. */
export async function findGoModule(wanted: GoModule): Promise<string> {
  const { title, program, folders, version, variable } = wanted;
  const folder = join(serviceCache(), `${program}-${version}`);
  if ([program, ...folders].every((name) => existsSync(join(folder, name)))) return folder;
  progress(`building ${title} with go (some minutes, once)`);
  if (Bun.which("go") === null || !(await inBuildQueue(() => build(wanted, folder))))
    throw new ServiceUnavailable(`${title} is not built: install Go and a C compiler, or set ${variable}.`);
  return folder;
}

/** In a copy of the module, because Go keeps its own read-only. */
async function build({ module, version, ...wanted }: GoModule, folder: string): Promise<boolean> {
  const download = Bun.spawn(["go", "mod", "download", "-json", `${module}@${version}`], {
    env: { ...process.env, ...env },
    stderr: "ignore",
  });
  const text = await new Response(download.stdout).text();
  if ((await download.exited) !== 0) return false;
  const { Dir } = JSON.parse(text) as { Dir: string };
  const [sources, made] = [`${folder}.sources`, `${folder}.new`];
  for (const path of [sources, made, folder]) rmSync(path, { recursive: true, force: true });
  mkdirSync(made, { recursive: true });
  const inSources = { cwd: sources, env };
  const isBuilt =
    (await run(["cp", "-r", Dir, sources])) &&
    (await run(["chmod", "-R", "u+w", sources])) &&
    (wanted.prepare === undefined || (await run(["go", ...wanted.prepare], inSources))) &&
    (await run(["go", "build", "-o", join(made, wanted.program), ...wanted.build], inSources));
  if (isBuilt) {
    for (const name of wanted.folders) cpSync(join(sources, name), join(made, name), { recursive: true });
    renameSync(made, folder);
  }
  rmSync(sources, { recursive: true, force: true });
  return isBuilt;
}
