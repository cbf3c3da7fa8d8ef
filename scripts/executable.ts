import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeBundle } from "../src/http/asset-bundle.ts";
import { consoleBundle } from "../src/http/console-bundle.ts";
import { manualBundle } from "../src/http/manual/manual-bundle.ts";
import { leanMetrics, leanSchemas, modulePaths, selfContainedKafka } from "./bundle-plugins.ts";

export const root = join(import.meta.dir, "..");
/** An executable names the paths of its bundles from the sources, so it is the same in every build. */
const bundleFolder = join(root, ".cache/executable");

export interface ExecutableOptions {
  /** Where it is written. */
  file: string;
  /** What `slipway version` says about it. */
  build: { commit: string; target: string };
  /** Another system, by its name for `bun build --target`; its runtime is fetched unless `runtime` names a file. */
  target?: Bun.Build.CompileTarget;
  runtime?: string;
}

/** Makes the whole product one executable file, console and manual included. */
export async function writeExecutable({ file, build, target, runtime }: ExecutableOptions): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const bundles = [];
  for (const kind of [consoleBundle, manualBundle]) {
    const bundle = join(bundleFolder, kind.name);
    await writeBundle(bundle, await kind.make(root));
    bundles.push(bundle);
  }
  await Bun.build({
    // A thread is started by the path of its program below `src`, so each program must be an entry point.
    entrypoints: [join(root, "src/main.ts"), join(root, "src/app/store-thread-program.ts"), ...bundles],
    root: join(root, "src"),
    // A command loads only its own part of the program.
    format: "esm",
    splitting: true,
    // Starts in a third of the time, for 11 MiB more. Bytecode is of this machine's kind.
    bytecode: target === undefined,
    compile: {
      outfile: file,
      // It reads nothing of the runtime's from the current folder, which may be anybody's: as in src/own-command.ts.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
      ...(target ? { target } : {}),
      ...(runtime ? { executablePath: runtime } : {}),
    },
    define: {
      builtStoreThread: JSON.stringify("./app/store-thread-program.ts"),
      builtFrom: JSON.stringify(build),
      // The bundler would write the paths of this checkout into the file.
      __dirname: JSON.stringify("/slipway"),
      ...modulePaths("/slipway"),
    },
    minify: true,
    naming: { asset: "[name].[ext]" },
    plugins: [selfContainedKafka, leanMetrics, leanSchemas],
  });
}

/** The commit of the sources, with a mark if they were changed since. */
export function currentCommit(): string {
  const git = (...args: string[]) =>
    Bun.spawnSync(["git", ...args], { cwd: root })
      .stdout.toString()
      .trim();
  const commit = git("rev-parse", "--short=12", "HEAD");
  return git("status", "--porcelain", "--untracked-files=no") === "" ? commit : `${commit}-changed`;
}

export const nativeTarget = `${process.platform}-${process.arch}`;
