import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import type { Clock, MachineClock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { isObject } from "../../json.ts";
import { replaceFile } from "../../whole-file.ts";
import type { KeyJournal, KeyRecord } from "./idempotency.ts";

export interface KeyFileOptions {
  /** Keys of the previous period are in a second file with the suffix `.old`. */
  file: string;
  /** The system clock gives the age of keys after a restart of the machine. */
  clock: Clock;
  /** Gives the age of keys after a restart of the process, also if the system clock was changed; null: not available. */
  machine: MachineClock | null;
  steady: Clock;
  /** Called when keys cannot be written; a restart then forgets them. */
  onFault: (reason: string) => void;
}

/** Limit of keys that wait to be written; a restart forgets the rest. */
const maxUnwritten = 10_000;

/** Each attempt writes all keys that wait, so it is not made for each key of a publish. */
const retryMs = 1_000;

/**
 * Idempotency keys that survive a restart of this instance. Each key is written without a sync: it survives a crash of the
 * process, but not a power failure. In a cluster the broker keeps keys as well, for instances that lost their disk; the file
 * covers a broker that lost them.
 */
export class KeyFile implements KeyJournal {
  readonly #options: KeyFileOptions;
  #handle: number | null = null;
  #unwritten: string[] = [];
  #triedAtMs = 0;

  constructor(options: KeyFileOptions) {
    this.#options = options;
  }

  /**
   * Returns the keys that earlier processes wrote less than `windowMs` ago, and removes all others from the file. Unreadable
   * lines, for example after a crash, are skipped.
   */
  load(windowMs: number): [key: string, record: KeyRecord][] {
    const { file, steady } = this.#options;
    const lines: string[] = [];
    const found: [key: string, record: KeyRecord][] = [];
    for (const line of [`${file}.old`, file].flatMap(linesOf)) {
      const entry = readEntry(line);
      const ageMs = entry ? this.#ageOf(entry) : windowMs;
      if (!entry || ageMs >= windowMs) continue;
      const { key, id, fingerprint, receivers } = entry;
      lines.push(`${line}\n`);
      found.push([key, { id, fingerprint, receivers, isRecalled: false, atMs: steady.now() - ageMs }]);
    }
    if ([`${file}.old`, file].some(existsSync)) this.#try(() => this.#rewrite(lines));
    return found;
  }

  add(key: string, { id, fingerprint, receivers, atMs }: KeyRecord): void {
    const { clock, steady, machine } = this.#options;
    const ageMs = steady.now() - atMs;
    const entry = {
      ...{ key, id, fingerprint: String(fingerprint), receivers, at: Math.round(clock.now() - ageMs) },
      ...(machine ? { boot: machine.boot, upMs: Math.round(machine.elapsed() - ageMs) } : {}),
    };
    this.#unwritten.push(`${JSON.stringify(entry)}\n`);
    if (this.#unwritten.length > maxUnwritten) this.#unwritten.shift();
    // Other keys that wait mean that the last attempt failed; `retry` makes the next one.
    if (this.#unwritten.length === 1) this.#write();
  }

  retry(): void {
    const isDue = this.#options.steady.now() - this.#triedAtMs >= retryMs;
    if (this.#unwritten.length > 0 && isDue) this.#write();
  }

  #write(): void {
    this.#triedAtMs = this.#options.steady.now();
    this.#try(() => {
      const handle = this.#handle ?? this.#open();
      const bytes = Buffer.from(this.#unwritten.join(""));
      if (writeSync(handle, bytes) < bytes.length) throw new Error("only part of the data was written");
      this.#unwritten = [];
    });
  }

  #ageOf({ at, boot, upMs }: Entry): number {
    const { clock, machine } = this.#options;
    const isOfThisBoot = machine !== null && machine.boot === boot && upMs !== undefined;
    return Math.max(0, isOfThisBoot ? machine.elapsed() - upMs : clock.now() - at);
  }

  rotate(): void {
    const { file } = this.#options;
    this.#try(() => {
      this.close();
      rmSync(`${file}.old`, { force: true });
      renameSync(file, `${file}.old`);
    });
  }

  close(): void {
    if (this.#handle !== null) closeSync(this.#handle);
    this.#handle = null;
  }

  /** Writes all keys into one file, so that frequent restarts neither grow the file nor lose keys. */
  #rewrite(lines: string[]): void {
    const { file } = this.#options;
    if (lines.length > 0) replaceFile(file, lines.join(""));
    else rmSync(file, { force: true });
    rmSync(`${file}.old`, { force: true });
  }

  #open(): number {
    const { file } = this.#options;
    mkdirSync(dirname(file), { recursive: true });
    const handle = openSync(file, "a", 0o600);
    // Before the first write, so that the file is closed if the write fails.
    this.#handle = handle;
    // Ends a line that a crash may have truncated.
    writeSync(handle, "\n");
    return handle;
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      this.#options.onFault(messageOf(error));
      // The file is opened again, which ends a truncated line.
      this.close();
    }
  }
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return [];
  }
}

interface Entry {
  key: string;
  id: string;
  fingerprint: bigint;
  receivers: number | null;
  at: number;
  boot: string | undefined;
  upMs: number | undefined;
}

function readEntry(line: string): Entry | null {
  try {
    const value: unknown = JSON.parse(line);
    if (!isObject(value)) return null;
    const { key, id, fingerprint, receivers, at, boot, upMs } = value;
    if (typeof key !== "string" || typeof id !== "string" || typeof at !== "number") return null;
    if (receivers !== null && typeof receivers !== "number") return null;
    return {
      ...{ key, id, fingerprint: BigInt(String(fingerprint)), receivers, at },
      boot: typeof boot === "string" ? boot : undefined,
      upMs: typeof upMs === "number" ? upMs : undefined,
    };
  } catch {
    return null;
  }
}
