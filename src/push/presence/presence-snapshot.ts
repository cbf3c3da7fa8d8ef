import type { PresenceFold } from "./presence-fold.ts";
import type { PresenceRecord, SnapshotPart } from "./presence-record.ts";

/** A record of the log with its place. */
export interface PlacedRecord {
  offset: number;
  id: string;
  record: PresenceRecord;
}

/** Limits the size of a record. */
export const entriesPerPart = 2_000;

/** Splits a state into parts of limited size. */
export function snapshotParts(state: SnapshotPart): SnapshotPart[] {
  const { time, reportedUpTo } = state;
  const empty = (): SnapshotPart => ({ processes: [], leaving: [], unwritten: [], time, reportedUpTo });
  const parts: SnapshotPart[] = [];
  for (const process of state.processes) {
    const { names } = process;
    // A process without users is part of the snapshot too.
    for (const slice of names.length === 0 ? [[]] : slices(names))
      parts.push({ ...empty(), processes: [{ ...process, names: slice }] });
  }
  for (const leaving of slices(state.leaving)) parts.push({ ...empty(), leaving });
  for (const unwritten of slices(state.unwritten)) parts.push({ ...empty(), unwritten });
  return parts.length > 0 ? parts : [empty()];
}

export function slices<T>(entries: readonly T[]): T[][] {
  const count = Math.ceil(entries.length / entriesPerPart);
  return Array.from({ length: count }, (_, index) =>
    entries.slice(index * entriesPerPart, (index + 1) * entriesPerPart),
  );
}

/**
 * Restores the newest complete snapshot among the records, and applies the records after it. False: there is none whose
 * later records are all here.
 */
export function restoreFrom(records: readonly PlacedRecord[], fold: PresenceFold): boolean {
  const first = records[0]?.offset ?? Number.POSITIVE_INFINITY;
  const found = newestSnapshot(records);
  if (!found || found.offset < first) return false;
  fold.restore(found.offset, found.state);
  applyAll(
    records.filter(({ offset }) => offset > found.offset),
    fold,
  );
  return true;
}

export function applyAll(records: readonly PlacedRecord[], fold: PresenceFold): void {
  for (const { offset, id, record } of records) fold.apply(offset, id, record);
}

function newestSnapshot(records: readonly PlacedRecord[]): { offset: number; state: SnapshotPart } | null {
  const collected = new Map<string, SnapshotPart[]>();
  let found: { offset: number; state: SnapshotPart } | null = null;
  for (const { record } of records) {
    if (record.kind !== "snapshot") continue;
    const key = `${record.process} ${record.offset}`;
    const parts = record.part === 0 ? [] : (collected.get(key) ?? []);
    collected.set(key, parts);
    if (parts.length !== record.part) continue;
    parts.push(record.state);
    if (parts.length === record.parts) found = { offset: record.offset, state: joined(parts) };
  }
  return found;
}

function joined(parts: SnapshotPart[]): SnapshotPart {
  const { time = 0, reportedUpTo = {} } = parts[0] ?? {};
  return {
    processes: parts.flatMap(({ processes }) => processes),
    leaving: parts.flatMap(({ leaving }) => leaving),
    unwritten: parts.flatMap(({ unwritten }) => unwritten),
    time,
    reportedUpTo,
  };
}
