import { existsSync, lstatSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { Fault, messageOf } from "../../errors.ts";
import { randomToken } from "../../secrets.ts";
import { openFileCalls } from "../../system/file-calls.ts";
import { openKeeper } from "../keeper/keeper.ts";
import { dataFolderOf, foldersIn } from "../workspace/folders.ts";
import { removeFolder } from "../workspace/remove-folder.ts";
import { readArchive, writeArchive } from "./data-archive.ts";
import { instanceFoldersIn, readInstance } from "./instance-folder.ts";

const whereToRun =
  "Run this on the machine of the runner that has the project, as the runner's user and with its settings.";

const servicesIn = (root: string) => join(root, "services");
const idsIn = (folder: string) =>
  foldersIn(folder)
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

function instancesOf(root: string, projectId: number) {
  const services = servicesIn(root);
  return foldersIn(join(services, String(projectId))).flatMap((name) =>
    instanceFoldersIn(services, projectId, name).map((folder) => ({ name, folder })),
  );
}

/** The id of a project that was given by its id, or by the name that it had at its last deploy of services here. */
export function projectIdIn(root: string, project: string): number {
  if (!existsSync(root))
    throw new Fault("not_found", `There is no folder ${root} of a runner. ${whereToRun}`);
  if (/^\d+$/.test(project)) return Number(project);
  const found = idsIn(servicesIn(root)).filter((id) =>
    instancesOf(root, id).some(({ folder }) => readInstance(folder)?.variables.CI_PROJECT_NAME === project),
  );
  const [id, ...others] = found;
  if (id === undefined)
    throw new Fault(
      "not_found",
      `No project "${project}" has services in ${root}: give its id, which the address of its page has. ${whereToRun}`,
    );
  if (others.length > 0)
    throw new Fault(
      "invalid",
      `Several projects had the name "${project}"; give an id: ${found.join(", ")}.`,
    );
  return id;
}

/** The projects that have data here. */
export function projectsWithData(root: string): number[] {
  return idsIn(join(root, "data")).toSorted((one, other) => one - other);
}

export interface DataBackup {
  projectId: number;
  file: string;
  /** Services that ran meanwhile: their files may not fit together. */
  running: string[];
  /** What tar says of files that changed while it read them. */
  changed: string;
}

/** Writes the data folder of a project into a new file. */
export async function backUpData(root: string, projectId: number, file: string): Promise<DataBackup> {
  const folder = dataFolderOf(root, projectId);
  if (!existsSync(folder))
    throw new Fault("not_found", `Project ${projectId} has no data folder ${folder}. ${whereToRun}`);
  refuseExisting(file);
  const partial = `${file}.${randomToken(6, "hex")}.partial`;
  try {
    const running = await runningOf(root, projectId);
    const changed = await writeArchive(folder, partial);
    refuseExisting(file);
    renameSync(partial, file);
    return { projectId, file, running, changed };
  } catch (error) {
    rmSync(partial, { force: true });
    if (error instanceof Fault) throw error;
    throw new Fault("invalid", `The backup ${file} cannot be written: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Puts a backup in the place of the data of a project. It is unpacked beside first, so that a failure changes nothing. Returns where
 * the data is that was there before; null: there was none.
 */
export async function restoreData(root: string, projectId: number, file: string): Promise<string | null> {
  await refuseRunning(root, projectId);
  const folder = dataFolderOf(root, projectId);
  const fresh = join(dirname(folder), `.restore-${projectId}`);
  mkdirSync(dirname(folder), { recursive: true, mode: 0o711 });
  try {
    mkdirSync(fresh, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new Fault(
      "conflict",
      `Another restore of project ${projectId} runs, or one was killed: in the second case, remove ${fresh}.`,
    );
  }
  try {
    await readArchive(file, fresh);
    await refuseRunning(root, projectId);
    return switchTo(fresh, folder);
  } catch (error) {
    await removeFolder(fresh);
    throw error;
  }
}

function switchTo(fresh: string, folder: string): string | null {
  if (!existsSync(folder)) {
    renameSync(fresh, folder);
    return null;
  }
  const earlier = `${folder}.before-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`;
  renameSync(folder, earlier);
  try {
    renameSync(fresh, folder);
  } catch (error) {
    renameSync(earlier, folder);
    throw error;
  }
  return earlier;
}

/** Names of the services of a project that run here, in whatever release. */
async function runningOf(root: string, projectId: number): Promise<string[]> {
  const calls = await openFileCalls();
  const alive = instancesOf(root, projectId).filter(({ folder }) => openKeeper(folder, calls).isAlive());
  return [...new Set(alive.map(({ name }) => name))];
}

async function refuseRunning(root: string, projectId: number): Promise<void> {
  const names = await runningOf(root, projectId);
  if (names.length === 0) return;
  throw new Fault(
    "conflict",
    `Services of project ${projectId} run: ${names.join(", ")}. Stop them first: ${names.map((name) => `slipway service stop ${projectId} ${name}`).join("; ")}.`,
  );
}

function refuseExisting(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return;
  throw new Fault("conflict", `${file} exists: name a new file, or remove it.`);
}
