import { createHash } from "node:crypto";
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { newReason } from "../../reason/reason.ts";
import { replaceFile } from "../../whole-file.ts";
import { outputFile } from "../keeper/keeper.ts";
import type { RunTask, WireService } from "../protocol.ts";
import { CannotRun } from "../stage/cannot-run.ts";
import type { Execution } from "../stage/execution.ts";
import { isFolderIn } from "../stage/stage-script.ts";
import { writeSecrets } from "../stage/step-files.ts";
import { foldersIn } from "../workspace/folders.ts";
import type { WritableFolder } from "../workspace/release-folders.ts";
import { removeFolder } from "../workspace/remove-folder.ts";
import firstProcess from "./first-process.sh" with { type: "text" };
import {
  commandFile,
  firstProcessFile,
  isArgument,
  type PreparedService,
  prepareService,
} from "./prepare-service.ts";

/** A service of a release on this machine, complete: it starts again without the server. */
export interface InstanceRecord {
  projectId: number;
  taskId: number;
  commit: string;
  workspace: string;
  source: string;
  isReadOnly: boolean;
  writable: WritableFolder[];
  resources: RunTask["resources"];
  service: WireService;
  port: number | null;
  /** All variables, secrets included. */
  variables: Record<string, string>;
  /** Names of variables whose values are secret. */
  secrets: string[];
  /** Names of the secrets that are files. */
  files: string[];
  /** Id of the container image; empty: it is not known, or there is none. */
  imageId: string;
  /** It has ended and never starts again: only its output is kept. */
  isRetired: boolean;
}

const recordFile = "instance.json";

/** The folders of a service's instances, oldest first. */
export function instanceFoldersIn(root: string, projectId: number, name: string): string[] {
  const folder = join(root, String(projectId), name);
  const numbers = (each: string) => each.split("-").map(Number);
  return foldersIn(folder)
    .filter((each) => /^\d+-\d+$/.test(each))
    .toSorted((one, other) => (numbers(one)[1] ?? 0) - (numbers(other)[1] ?? 0))
    .map((each) => join(folder, each));
}

/** Null: a killed runner has begun to create or to remove it. */
export function readInstance(folder: string): InstanceRecord | null {
  try {
    return JSON.parse(readFileSync(join(folder, recordFile), "utf8")) as InstanceRecord;
  } catch {
    return null;
  }
}

export function writeInstance(folder: string, record: InstanceRecord): void {
  replaceFile(join(folder, recordFile), JSON.stringify(record));
}

/**
 * A new folder for an instance. Its files can be read by the runner only; three folders in it are the service's own. Numbers go
 * on, so that the folders of a service are in the order of their creation.
 */
export function createInstanceFolder(root: string, { projectId, taskId, service }: InstanceRecord): string {
  const existing = instanceFoldersIn(root, projectId, service.name);
  const last = Number(existing.at(-1)?.split("-").at(-1) ?? 0);
  const folder = join(root, String(projectId), service.name, `${taskId}-${last + 1}`);
  mkdirSync(folder, { recursive: true });
  for (const each of [folder, dirname(folder), dirname(dirname(folder)), root]) chmodSync(each, 0o711);
  return folder;
}

/** The command of an instance, and the files that it reads. */
export function prepareInstance(
  folder: string,
  record: InstanceRecord,
  { execution, own }: { execution: Execution; own: Record<string, string | undefined> },
  { isOnHost = false } = {},
): PreparedService {
  const { service, source } = record;
  const title = `start/${service.name}`;
  const cwd = resolve(source, service.directory);
  if (!isFolderIn(source, cwd))
    throw new CannotRun(newReason("folder_missing", { folder: service.directory, stage: title }));
  const isFile = ([name]: [string, string]) => record.files.includes(name);
  const all = Object.entries(record.variables);
  const { memoryMb, cpus, processes } = service.limits;
  return prepareService(
    {
      title,
      image: record.imageId || service.image,
      network: service.network,
      isBackground: service.background,
      isOnHost,
      command: service.command.replaceAll("\r\n", "\n"),
      cwd,
      // Several runners of a machine may share an engine.
      name: `slipway-service-${record.projectId}-${service.name}-${folder.split("/").at(-1)}-${shortHash(folder)}`,
      // A port that the runner chose is for a proxy on this machine; one that a person chose is for everybody.
      publish:
        record.port === null
          ? null
          : { port: record.port, address: service.port === "$PORT" ? "127.0.0.1" : "0.0.0.0" },
      resources: {
        ...record.resources,
        memoryBytes: memoryMb === null ? record.resources.memoryBytes : memoryMb * 1024 * 1024,
        cpus: cpus ?? record.resources.cpus,
        processes: processes ?? record.resources.processes,
      },
      folders: {
        source,
        isReadOnly: record.isReadOnly,
        writable: record.writable,
        files: join(folder, "files"),
        home: join(folder, "home"),
        temporary: join(folder, "tmp"),
      },
      own,
      variables: Object.fromEntries(all.filter((entry) => !isFile(entry))),
      files: Object.fromEntries(all.filter(isFile)),
    },
    execution,
  );
}

/** Writes what the service reads. Files of an earlier start are replaced. */
export function writeInstanceFiles(folder: string, record: InstanceRecord, user: Execution["user"]): void {
  const { command } = record.service;
  const files = join(folder, "files");
  rmSync(files, { recursive: true, force: true });
  for (const name of ["files", "home", "tmp"])
    mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  writeFileSync(join(files, firstProcessFile), firstProcess, { mode: 0o400 });
  if (!isArgument(command))
    writeFileSync(join(files, commandFile), command.replaceAll("\r\n", "\n"), { mode: 0o500 });
  const secrets = Object.entries(record.variables).filter(([name]) => record.files.includes(name));
  writeSecrets(Object.fromEntries(secrets), files);
  const output = join(folder, outputFile);
  writeFileSync(output, "", { flag: "a", mode: 0o600 });
  if (user === null) return;
  const own = [files, join(folder, "home"), join(folder, "tmp"), output];
  // A service opens /dev/stdout by its name.
  for (const path of [...own, ...readdirSync(files).map((name) => join(files, name))])
    chownSync(path, user.uid, user.gid);
}

const keptFiles = [recordFile, outputFile, "positions"];

/** Only what reading its output needs stays. */
export async function retireInstance(folder: string, record: InstanceRecord): Promise<void> {
  const { secrets, variables } = record;
  const masked = Object.entries(variables).filter(([name]) => secrets.includes(name));
  writeInstance(folder, { ...record, isRetired: true, port: null, variables: Object.fromEntries(masked) });
  for (const name of readdirSync(folder))
    if (!keptFiles.includes(name)) await removeFolder(join(folder, name));
}

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
