import type { LogName } from "../../bus/log.ts";
import { isLaterRecord, readableVersion } from "../../bus/record-version.ts";
import type { Clock } from "../../clock.ts";
import type { Logger } from "../../logger.ts";
import { oncePerSecond } from "../../once-per-second.ts";
import type { PushCounters } from "./counters.ts";

/** Instances append a beat to `control` every 5 s: after three of them, none of a later version runs any more. */
const laterInstanceMs = 15_000;

/** Records that this instance cannot read: invalid ones, and those of instances of a later version. */
export class SkippedRecords {
  readonly #counters: PushCounters;
  readonly #steady: Clock;
  readonly #log: Logger;
  readonly #warnInvalid: () => void;
  #later = { version: 0, atMs: Number.NEGATIVE_INFINITY };

  constructor(counters: PushCounters, steady: Clock, log: Logger) {
    this.#counters = counters;
    this.#steady = steady;
    this.#log = log;
    this.#warnInvalid = oncePerSecond(steady, (skipped) =>
      log.warn({ skipped }, "skipped records of the queue that are not valid messages"),
    );
  }

  note(name: LogName, value: unknown, ageMs: number): void {
    if (!isLaterRecord(value)) {
      this.#counters.unreadable++;
      this.#warnInvalid();
      return;
    }
    this.#counters.later++;
    // Only what processes say about themselves: who may write messages must not take instances out of service.
    if (name === "control" && value.type === "presence" && typeof value.process === "string")
      this.#noteInstance(value.v, this.#steady.now() - ageMs);
  }

  #noteInstance(version: number, atMs: number): void {
    const wasKnown = this.problem !== null;
    this.#later = { version, atMs };
    if (!wasKnown && this.problem !== null) this.#log.error(this.problem);
  }

  /** Why this instance should get no new connections; null: no instance of a later version runs. */
  get problem(): string | null {
    const { version, atMs } = this.#later;
    if (this.#steady.now() - atMs >= laterInstanceMs) return null;
    return `instances of a later version write records of version ${version}, and this one reads up to version ${readableVersion}: its clients miss messages. Upgrade it, or stop the later ones`;
  }
}
