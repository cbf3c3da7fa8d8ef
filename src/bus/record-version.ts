import { isObject, type JsonObject } from "../json.ts";

/** Set in the programs of test/cluster/versions.test.ts, which stand for later versions. */
declare const builtRecordVersions: { written: number; readable: number } | undefined;

const versions =
  typeof builtRecordVersions === "undefined" ? { written: 1, readable: 1 } : builtRecordVersions;

/**
 * The version `v` of the records that instances write. Further fields and types of records do not change it: what an instance
 * does not know, it ignores. A version that earlier programs would misunderstand is read by one release and written by a
 * later one, so that instances of neighbouring releases run together.
 */
export const writtenVersion = versions.written;

/** The highest version that this program reads. */
export const readableVersion = versions.readable;

export function isReadableVersion(v: unknown): v is number {
  return typeof v === "number" && v >= 1 && v <= readableVersion;
}

/** Whether an instance of a later version wrote this. `v`, `id` and `node` are in records of every version; markers have no node. */
export function isLaterRecord(value: unknown): value is JsonObject & { v: number } {
  if (!isObject(value) || typeof value.v !== "number" || value.v <= readableVersion) return false;
  return typeof value.id === "string" && typeof value.node === "string";
}
