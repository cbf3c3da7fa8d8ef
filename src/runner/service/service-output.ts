import { closeSync, openSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import type { FileCalls } from "../../system/file-calls.ts";
import { replaceFile } from "../../whole-file.ts";
import { outputFile } from "../keeper/keeper.ts";
import type { OutputTextRequest } from "../protocol.ts";

export type OutputMark = OutputTextRequest["marks"][number];

/** Bounds of the output of one service. */
export interface OutputBounds {
  maxBytes: number;
  maxAgeMs: number;
}

interface Stored {
  /** Position of the first byte of the file. */
  base: number;
  /** Bytes at its beginning whose space was freed. */
  freed: number;
  /** Size at the last look. */
  size: number;
  marks: OutputMark[];
  /** How large the file was, about every hour: what lies before is at least as old. */
  hours: { at: number; size: number }[];
}

/** Positions that are left between two instances: one that drains still prints after the next one has begun. */
const gap = 2 ** 30;
const hourMs = 3_600_000;
const marksMax = 200;
const hoursMax = 1000;
/** The file is not written again for every line of output. */
const saveEveryBytes = 1024 * 1024;
const blockBytes = 4096;
/** Of a file that is too large, this part stays, so that space is freed seldom. */
const keptPart = 0.75;

/**
 * The output of one instance: a file to which its processes append. A position is the base plus the offset in the file, so that
 * it stays valid when the oldest part is freed.
 */
export function openOutput(
  folder: string,
  { calls, clock, bounds }: { calls: FileCalls; clock: Clock; bounds: OutputBounds },
) {
  const file = join(folder, outputFile);
  const stored = readStored();
  let savedSize = stored.size;

  function readStored(): Stored {
    try {
      return JSON.parse(readFileSync(join(folder, "positions"), "utf8")) as Stored;
    } catch {
      return { base: 0, freed: 0, size: 0, marks: [], hours: [] };
    }
  }

  function save(): void {
    savedSize = stored.size;
    replaceFile(join(folder, "positions"), JSON.stringify(stored));
  }

  function mark(kind: OutputMark["kind"], taskId: number | null): void {
    const position = stored.base + stored.size;
    stored.marks = [
      ...stored.marks.slice(-marksMax + 1),
      { position, at: new Date(clock.now()).toISOString(), kind, taskId },
    ];
    save();
  }

  /** The file is empty or another one: what follows has new positions. */
  function beginAnew(size: number): void {
    stored.base += stored.size;
    stored.freed = 0;
    stored.hours = [];
    stored.size = 0;
    mark("cut", null);
    stored.size = size;
  }

  function free(bytes: number): void {
    const descriptor = openSync(file, "r+");
    try {
      if (calls.freeBeginning(descriptor, bytes)) {
        stored.freed = bytes;
        save();
        return;
      }
    } finally {
      closeSync(descriptor);
    }
    truncateSync(file, 0);
    beginAnew(0);
  }

  /** Takes notice of new output, and frees what is beyond the bounds. Returns the bytes on disk. */
  function look(): number {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found === undefined) return 0;
    if (found.size < stored.size) beginAnew(found.size);
    else stored.size = found.size;
    const now = clock.now();
    if (now - (stored.hours.at(-1)?.at ?? 0) >= hourMs) {
      stored.hours = [...stored.hours.slice(-hoursMax), { at: now, size: stored.size }];
      save();
    }
    const used = found.blocks * 512;
    const old = stored.hours.findLast(({ at }) => now - at > bounds.maxAgeMs)?.size ?? 0;
    const beyond = used > bounds.maxBytes ? stored.size - Math.floor(bounds.maxBytes * keptPart) : 0;
    const freed = Math.floor(Math.max(old, beyond) / blockBytes) * blockBytes;
    if (freed > stored.freed) free(freed);
    else if (stored.size - savedSize >= saveEveryBytes) save();
    return used;
  }

  return {
    file,
    look,
    mark,
    /** The first instance of a release begins behind all earlier ones. */
    begin(behind: number, taskId: number): void {
      stored.base = behind === 0 ? 0 : behind + gap;
      mark("release", taskId);
    },
    from: () => stored.base + stored.freed,
    to: () => stored.base + stored.size,
    base: () => stored.base,
    marks: (): readonly OutputMark[] => stored.marks,
  };
}
export type ServiceOutput = ReturnType<typeof openOutput>;
