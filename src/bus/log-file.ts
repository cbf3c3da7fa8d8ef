import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import type { Clock, MachineClock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import { isObject, parseJson } from "../json.ts";

export interface LogFileOptions {
  /**
   * The records before the last change of files are in a second file with the suffix `.old`. While its last records cannot
   * be written, the file has the suffix `.incomplete`.
   */
  file: string;
  /** Records of at least this time are kept, if they fit into `maxBytes`. */
  windowMs: number;
  /** Of each of the two files. */
  maxBytes: number;
  clock: Clock;
  steady: Clock;
  /** Null: the system does not say when it was started. */
  machine: MachineClock | null;
  /** The last records cannot be written now; a restart starts a new log. */
  onFault(reason: string): void;
  /** The size cuts the window, which is then only this long. */
  onCut(windowMs: number): void;
}

export interface StoredRecord {
  offset: number;
  ageMs: number;
  value: { id: string };
}

/** The first line of each process. The time of a record is its distance from `upMs`. */
interface Header {
  boot: string;
  upMs: number;
  wallMs: number;
}

const endLine = "end\n";
/** Each attempt after a fault costs system calls. */
const retryMs = 200;
/** Without a new record the next attempt is made after this time. */
const idleRetryMs = 1_000;

/**
 * The last minutes of a log of one instance, so that the log continues after a restart of the process. Nothing is synced:
 * after a crash of the machine the end may be missing, so that a file of an earlier boot is used only if its process ended
 * in order.
 */
export class LogFile {
  readonly #options: LogFileOptions;
  #handle: number | null = null;
  /** Of this process. */
  #bytes = 0;
  #size = 0;
  #beganAtMs = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  /** Lines that wait for the next attempt. */
  #unwritten = "";
  #isIncomplete = false;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #hasReportedCut = false;

  constructor(options: LogFileOptions) {
    this.#options = options;
  }

  /** Returns the records of earlier processes, oldest first; none if some after them may be missing. */
  load(): StoredRecord[] {
    const { file, windowMs } = this.#options;
    const lines = [`${file}.old`, file].flatMap(linesOf);
    const { records, header, hasEnded } = readLines(lines, (each, upMs) => this.#ageOf(each, upMs));
    const isComplete = !existsSync(this.#incomplete);
    if (!isComplete || !header || (header.boot !== this.#boot && !hasEnded)) {
      this.#remove();
      return [];
    }
    // At least the newest, which a client may have as its position.
    const kept = records.filter(({ ageMs }, index) => ageMs < windowMs || index === records.length - 1);
    this.#begin(kept);
    return kept;
  }

  /** Writes the records of earlier processes into one file, so that frequent restarts do not let it grow. */
  #begin(records: readonly StoredRecord[]): void {
    const { file, onFault } = this.#options;
    const upMs = this.#upMs;
    try {
      rmSync(`${file}.new`, { force: true });
      this.#open(`${file}.new`);
      this.#beganAtMs -= records[0]?.ageMs ?? 0;
      const lines = records.map(({ offset, ageMs, value }) =>
        lineOf(offset, upMs - ageMs, JSON.stringify([value])),
      );
      this.#append(lines.join(""));
      renameSync(`${file}.new`, file);
      rmSync(`${file}.old`, { force: true });
    } catch (error) {
      // The earlier files are still complete.
      onFault(messageOf(error));
      this.#closeHandle();
    }
  }

  /** Adds records with consecutive offsets, as the text of a JSON array, to the next `write`. */
  add(firstOffset: number, values: string): void {
    this.#unwritten += lineOf(firstOffset, this.#upMs, values);
  }

  /** Writes the new records in one call. Call before they are delivered. */
  write(): void {
    if (this.#unwritten === "") return;
    const { steady, maxBytes, windowMs } = this.#options;
    const nowMs = steady.now();
    if (this.#handle === null && nowMs - this.#failedAtMs < retryMs) return;
    this.#try(() => {
      const isFull = this.#bytes > maxBytes;
      if (isFull) this.#reportCut(nowMs - this.#beganAtMs);
      if (this.#handle !== null && (isFull || nowMs - this.#beganAtMs >= windowMs)) this.#change();
      this.#writeAll();
    });
  }

  /** Call when no more records follow. */
  close(): void {
    if (this.#handle !== null || this.#unwritten !== "") {
      this.#try(() => {
        this.#unwritten += endLine;
        this.#writeAll();
      });
      this.#closeHandle();
    }
    clearTimeout(this.#retry);
  }

  get #boot(): string {
    return this.#options.machine?.boot ?? "";
  }

  get #upMs(): number {
    const { machine, clock } = this.#options;
    return machine ? machine.elapsed() : clock.now();
  }

  #ageOf({ boot, upMs, wallMs }: Header, recordUpMs: number): number {
    const nowMs = boot === this.#boot ? this.#upMs : this.#options.clock.now() - wallMs + upMs;
    return Math.max(0, nowMs - recordUpMs);
  }

  get #incomplete(): string {
    return `${this.#options.file}.incomplete`;
  }

  #writeAll(): void {
    const { file } = this.#options;
    if (this.#handle === null) this.#open(this.#isIncomplete ? this.#incomplete : file);
    this.#append(this.#unwritten);
    this.#unwritten = "";
    if (!this.#isIncomplete) return;
    renameSync(this.#incomplete, file);
    this.#isIncomplete = false;
  }

  #open(file: string): void {
    const { steady, clock } = this.#options;
    mkdirSync(dirname(file), { recursive: true });
    this.#handle = openSync(file, "a", 0o600);
    this.#size = fstatSync(this.#handle).size;
    this.#beganAtMs = steady.now();
    this.#bytes = 0;
    const header: Header = {
      boot: this.#boot,
      upMs: Math.round(this.#upMs),
      wallMs: Math.round(clock.now()),
    };
    this.#append(`${JSON.stringify(header)}\n`);
  }

  #change(): void {
    const { file } = this.#options;
    this.#closeHandle();
    renameSync(file, `${file}.old`);
  }

  #append(text: string): void {
    if (this.#handle === null) return;
    const bytes = Buffer.byteLength(text);
    if (writeSync(this.#handle, text) < bytes) {
      // The next attempt writes all of it.
      ftruncateSync(this.#handle, this.#size);
      throw new Error("only a part was written");
    }
    this.#bytes += bytes;
    this.#size += bytes;
  }

  #reportCut(windowMs: number): void {
    if (windowMs >= this.#options.windowMs || this.#hasReportedCut) return;
    this.#hasReportedCut = true;
    this.#options.onCut(windowMs);
  }

  /** Without its last records the file is wrong: a process that finds it in this state begins anew. */
  #try(work: () => void): void {
    const { steady, maxBytes, onFault } = this.#options;
    try {
      work();
    } catch (error) {
      this.#failedAtMs = steady.now();
      onFault(messageOf(error));
      this.#closeHandle();
      this.#setAside();
      if (this.#unwritten.length > maxBytes) this.#remove();
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => this.write(), idleRetryMs);
      this.#retry.unref();
    }
  }

  #setAside(): void {
    if (this.#isIncomplete) return;
    const { file, onFault } = this.#options;
    try {
      // After a failed change of files only the older one exists.
      const last = existsSync(file) ? file : `${file}.old`;
      if (existsSync(last)) renameSync(last, this.#incomplete);
      this.#isIncomplete = true;
    } catch (error) {
      onFault(messageOf(error));
      this.#remove();
    }
  }

  #remove(): void {
    const { file } = this.#options;
    this.#unwritten = "";
    this.#isIncomplete = false;
    try {
      for (const each of [this.#incomplete, file, `${file}.old`]) rmSync(each, { force: true });
    } catch (error) {
      this.#options.onFault(messageOf(error));
    }
  }

  #closeHandle(): void {
    if (this.#handle !== null) closeSync(this.#handle);
    this.#handle = null;
  }
}

function lineOf(firstOffset: number, upMs: number, values: string): string {
  return `${firstOffset} ${Math.max(0, Math.round(upMs))} ${values}\n`;
}

/** A last line without its end was cut by a kill, before its records were delivered. */
function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
}

function readLines(lines: string[], ageOf: (header: Header, upMs: number) => number) {
  const records: StoredRecord[] = [];
  let header: Header | null = null;
  let hasEnded = false;
  for (const line of lines) {
    if (line === "") continue;
    hasEnded = line === endLine.trim();
    if (line.startsWith("{")) header = readHeader(line) ?? header;
    const [, first, upMs, values] = /^(\d{1,16}) (\d{1,16}) (\[.*\])$/.exec(line) ?? [];
    if (!header || first === undefined || values === undefined) continue;
    const ageMs = ageOf(header, Number(upMs));
    for (const [index, value] of ((parseJson(values) ?? []) as { id: string }[]).entries()) {
      const offset = Number(first) + index;
      // After a kill both files may have the same records.
      if (offset > (records.at(-1)?.offset ?? -1)) records.push({ offset, ageMs, value });
    }
  }
  return { records, header, hasEnded };
}

function readHeader(line: string): Header | null {
  const value = parseJson(line);
  if (!isObject(value)) return null;
  const { boot, upMs, wallMs } = value;
  const isHeader = typeof boot === "string" && typeof upMs === "number" && typeof wallMs === "number";
  return isHeader ? { boot, upMs, wallMs } : null;
}
