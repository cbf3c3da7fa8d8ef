import { type Preset, presetsFor, readFiles } from "./presets.ts";

/* A repository may hold several programs, each in a folder of its own. */

/** How deep programs are looked for. */
const maxDepth = 2;
const maxFolders = 12;
const noProgram = /^(\..*|node_modules|vendor|third_party|tests?|testdata|fixtures|examples?)$/;
const locks = ["package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"];

/** The files whose text the presets depend on. */
export function filesToRead(paths: readonly string[]): string[] {
  const listed = new Set(paths);
  return foldersOf(paths).flatMap((folder) =>
    readFiles.map((name) => join(folder, name)).filter((path) => listed.has(path)),
  );
}

/** The presets that fit the files of a repository, those of its root first. */
export function presetsIn(
  paths: readonly string[],
  texts: ReadonlyMap<string, string>,
  service: string,
): Preset[] {
  const root = namesIn(paths, "");
  const isWorkspace =
    root.includes("pnpm-workspace.yaml") || /"workspaces"\s*:/.test(texts.get("package.json") ?? "");
  const all = foldersOf(paths).flatMap((folder) => {
    const own = new Map(
      readFiles.flatMap((name) => {
        const text = texts.get(join(folder, name));
        return text === undefined ? [] : [[name, text] as const];
      }),
    );
    // The packages of a workspace share its lock file.
    const shared = isWorkspace && folder !== "" ? root.filter((name) => locks.includes(name)) : [];
    const found = presetsFor([...namesIn(paths, folder), ...shared], own, service);
    if (folder !== "") return found.map((preset) => inFolder(preset, folder));
    // Its own build makes the packages; what is deployed is one of them.
    return isWorkspace ? found.filter(({ name }) => name !== "node-static") : found;
  });
  // A page in a folder is mostly a part of a program.
  const programs = all.filter(({ folder, name }) => folder === "" || name !== "static");
  return programs.length > 0 ? programs : all;
}

function inFolder(preset: Preset, folder: string): Preset {
  const place = /^[\w./-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", "'\\''")}'`;
  const entered = (script: string) => (script === "" ? "" : `cd ${place}\n${script}`);
  const services = Object.entries(preset.services).map(
    ([name, service]) => [name, { ...service, command: `cd ${place} && ${service.command}` }] as const,
  );
  return {
    ...preset,
    folder,
    because: join(folder, preset.because),
    build: entered(preset.build),
    deploy: entered(preset.deploy),
    start: entered(preset.start),
    services: Object.fromEntries(services),
    cache: preset.cache.map((path) => join(folder, path)),
  };
}

/** The root and the folders below it that hold files, in the order of their names. */
function foldersOf(paths: readonly string[]): string[] {
  const folders = paths.flatMap((path) => {
    const parts = path.split("/").slice(0, -1);
    return parts.length > 0 && parts.length <= maxDepth && !parts.some((part) => noProgram.test(part))
      ? [parts.join("/")]
      : [];
  });
  const programs = [...new Set(folders)].filter(
    (folder) => presetsFor(namesIn(paths, folder), new Map([["Procfile", "web: x"]]), "").length > 0,
  );
  return ["", ...programs.slice(0, maxFolders)];
}

function namesIn(paths: readonly string[], folder: string): string[] {
  const start = folder === "" ? "" : `${folder}/`;
  return paths
    .filter((path) => path.startsWith(start))
    .map((path) => path.slice(start.length))
    .filter((name) => !name.includes("/"));
}

function join(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}
