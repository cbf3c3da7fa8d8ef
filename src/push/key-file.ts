import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { KeyJournal, Remembered } from "./idempotency.ts";
import { isRecord } from "./message.ts";

export interface KeyFileOptions {
  /** The keys of the turn before stand beside it, with `.old` at the end of the name. */
  file: string;
  /** Ages survive a restart only by the system's clock. */
  clock: Clock;
  steady: Clock;
  /** Keys cannot be kept: they are forgotten by a restart. */
  onFault: (reason: string) => void;
}

/**
 * Keys of one instance that has no broker to remember them. Each is written before its publish is answered, without a
 * sync: it survives the end of the process, not a power failure.
 */
export class KeyFile implements KeyJournal {
  readonly #options: KeyFileOptions;
  #handle: number | null = null;

  constructor(options: KeyFileOptions) {
    this.#options = options;
  }

  /** What earlier processes wrote; what cannot be read is skipped, as a line that was cut off by a crash. */
  *load(): Generator<[key: string, remembered: Remembered]> {
    const { file, clock, steady } = this.#options;
    for (const name of [`${file}.old`, file]) {
      for (const line of linesOf(name)) {
        const entry = readEntry(line);
        if (!entry) continue;
        const { key, id, fingerprint, receivers, at } = entry;
        const ageMs = Math.max(0, clock.now() - at);
        yield [key, { id, fingerprint, receivers, isRecalled: false, atMs: steady.now() - ageMs }];
      }
    }
  }

  add(key: string, { id, fingerprint, receivers, atMs }: Remembered): void {
    const { clock, steady } = this.#options;
    const at = Math.round(clock.now() - (steady.now() - atMs));
    const line = `${JSON.stringify({ key, id, fingerprint: String(fingerprint), receivers, at })}\n`;
    this.#try(() => {
      this.#handle ??= this.#open();
      writeSync(this.#handle, line);
    });
  }

  turn(): void {
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

  #open(): number {
    const { file } = this.#options;
    mkdirSync(dirname(file), { recursive: true });
    const handle = openSync(file, "a", 0o600);
    // A line that a crash cut off must not swallow the next one.
    writeSync(handle, "\n");
    return handle;
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.#options.onFault(messageOf(error));
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
}

function readEntry(line: string): Entry | null {
  try {
    const value: unknown = JSON.parse(line);
    if (!isRecord(value)) return null;
    const { key, id, fingerprint, receivers, at } = value;
    if (typeof key !== "string" || typeof id !== "string" || typeof at !== "number") return null;
    if (receivers !== null && typeof receivers !== "number") return null;
    return { key, id, fingerprint: BigInt(String(fingerprint)), receivers, at };
  } catch {
    return null;
  }
}
