import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../../whole-file.ts";
import type { ProcessIdentity, ProcessTree } from "../process/process-tree.ts";
import type { Trust } from "./trust.ts";

/** What a runner knows about a workspace, in a file of its folder. */
export interface RunRecord {
  owner: ProcessIdentity;
  trees: ProcessTree[];
  isKept: boolean;
  /** Whose code it has. Missing in records of earlier versions. */
  trust?: Trust | undefined;
  /** When it last became the live release. Missing in records of earlier versions. */
  keptAt?: number;
  /** Set while its deploy waits for an approval; it ends at this time at the latest. */
  builtUntil?: number;
}

const recordName = "run.json";
/** Written before the task begins, and renamed to the record if the disk is full when the task has succeeded. */
const preparedName = "kept.json";

/** Whether it was built for a deploy that nobody had approved when the record was written. */
export function isBuilt(record: RunRecord | null): boolean {
  return record?.builtUntil !== undefined && !record.isKept;
}

export function writeRecord(folder: string, record: RunRecord): void {
  replaceFile(join(folder, recordName), JSON.stringify(record));
}

/** Writes the record of a success in advance. */
export function prepareKept(folder: string, record: RunRecord): void {
  replaceFile(join(folder, preparedName), JSON.stringify(record));
}

/** A full disk must not cost a release that already serves: the next start of a runner would remove its folder. */
export function writeKept(folder: string, record: RunRecord): void {
  const prepared = join(folder, preparedName);
  try {
    writeRecord(folder, record);
    rmSync(prepared, { force: true });
  } catch (error) {
    if (!existsSync(prepared)) throw error;
    renameSync(prepared, join(folder, recordName));
  }
}

export function readRecord(folder: string): RunRecord | null {
  try {
    return JSON.parse(readFileSync(join(folder, recordName), "utf8")) as RunRecord;
  } catch {
    return null;
  }
}
