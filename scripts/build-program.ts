/**
 * Builds the program that bin/slipway runs instead of the sources: some fifty files with bytecode, so that a start neither
 * compiles TypeScript nor resolves a thousand imports, and loads only the files of the command that was called.
 *
 *   bun scripts/build-program.ts
 *
 * setup.mjs runs it after an installation, and a server after the sources changed. A build becomes visible in one step, when
 * it is complete and on disk. Until then, and if it fails, bin/slipway runs the sources.
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { constants, setPriority } from "node:os";
import { join, relative, resolve } from "node:path";
import {
  currentProgram,
  type Manifest,
  manifestFile,
  programFolder,
  root,
  runtimeName,
  stateOf,
} from "../src/launch/built-program.ts";
import {
  leanMetrics,
  leanSchemas,
  modulePaths,
  selfContainedKafka,
  separateFiles,
} from "./bundle-plugins.ts";

const lock = join(programFolder, "building");
/** A lock this old is left over from a build that was killed. */
const maxBuildMs = 120_000;
/** Programs of earlier versions that are kept: a running server may start one of its threads again. */
const keptPrograms = 3;

yieldToServers();
if (currentProgram() === null && takeLock()) {
  try {
    const unsettledMs = await build();
    // A source was written just before the build or during it: one more try, once its time is in the past.
    if (unsettledMs > 0) {
      await Bun.sleep(unsettledMs);
      await build();
    }
    deleteOldPrograms();
  } finally {
    rmSync(lock, { force: true });
  }
}

/**
 * 0: the program is built. Otherwise a source may have changed since it was read, so that the build may be of neither
 * version; the answer is the time until a new one can tell.
 */
async function build(): Promise<number> {
  const startedMs = Date.now();
  const folder = join(programFolder, `${startedMs}-${process.pid}`);
  const { sources, outputs } = await bundle(folder);
  const made = outputs.map((path) => relative(root, path));
  const settings = [
    "package-lock.json",
    "tsconfig.json",
    "scripts/build-program.ts",
    "node_modules/.package-lock.json",
  ];
  const inputs = [...sources, ...settings].filter(isFile).map(stateOf);
  const settledMs = Math.max(...inputs.map(([, , , changedMs]) => changedMs + clockStepMs(changedMs)));
  if (settledMs >= startedMs) {
    rmSync(folder, { recursive: true, force: true });
    return Math.max(settledMs - Date.now(), 0) + 1;
  }
  for (const path of made) sync(join(root, path));
  const manifest: Manifest = {
    root,
    runtime: runtimeName,
    main: join(folder, "main.js"),
    files: [...made.map(stateOf), ...inputs],
  };
  const unfinished = `${manifestFile}.${process.pid}`;
  writeFileSync(unfinished, JSON.stringify(manifest));
  sync(unfinished);
  renameSync(unfinished, manifestFile);
  return 0;
}

/**
 * Writes the program into the folder. The bundler splits only ES modules, and makes bytecode only of CommonJS modules, so
 * that it runs twice: over the sources, and then over each file of the first result.
 */
async function bundle(folder: string): Promise<{ sources: string[]; outputs: string[] }> {
  const splitFolder = join(folder, "split");
  // Names stay, for stack traces.
  const minify = { whitespace: true, syntax: true, identifiers: false };
  const split = await Bun.build({
    entrypoints: [join(root, "src/main.ts"), join(root, "src/app/store-thread-program.ts")],
    root: join(root, "src"),
    outdir: splitFolder,
    target: "bun",
    format: "esm",
    splitting: true,
    minify,
    metafile: true,
    plugins: [selfContainedKafka, leanMetrics, leanSchemas],
    define: {
      builtStoreThread: JSON.stringify(join(folder, "app/store-thread-program.js")),
      ...modulePaths(root),
    },
  });
  const { outputs } = await Bun.build({
    entrypoints: split.outputs.map(({ path }) => path),
    root: splitFolder,
    outdir: folder,
    target: "bun",
    format: "cjs",
    bytecode: true,
    minify,
    plugins: [separateFiles],
    define: { "import.meta.require": "require" },
  });
  rmSync(splitFolder, { recursive: true });
  return {
    // The bundler names its sources from the current folder, which may be any.
    sources: Object.keys(split.metafile?.inputs ?? {}).map((path) => relative(root, resolve(path))),
    outputs: outputs.map(({ path }) => path),
  };
}

/** How far the time of a change may lie before the change: some file systems record whole seconds. */
function clockStepMs(changedMs: number): number {
  return changedMs % 1000 === 0 ? 2_000 : 100;
}

/** A source may also be a module that the bundler generates. */
function isFile(path: string): boolean {
  return statSync(join(root, path), { throwIfNoEntry: false })?.isFile() ?? false;
}

function sync(file: string): void {
  const handle = openSync(file, "r");
  fsyncSync(handle);
  closeSync(handle);
}

/** False while another build runs. */
function takeLock(): boolean {
  mkdirSync(programFolder, { recursive: true });
  const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  if (age > maxBuildMs) rmSync(lock, { force: true });
  try {
    writeFileSync(lock, `${process.pid}\n`, { flag: "wx" });
    return true;
  } catch {
    return false;
  }
}

function deleteOldPrograms(): void {
  const names = readdirSync(programFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const newestFirst = names.sort((a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10));
  for (const name of newestFirst.slice(keptPrograms))
    rmSync(join(programFolder, name), { recursive: true, force: true });
}

/** A server that starts meanwhile goes first, and where memory is short this process ends instead of a server. */
function yieldToServers(): void {
  try {
    setPriority(constants.priority.PRIORITY_LOW);
    writeFileSync("/proc/self/oom_score_adj", "1000");
  } catch {
    // Other systems than Linux.
  }
}
