import type { Clock } from "../../clock.ts";
import type { Logger } from "../../logger.ts";
import { oncePerSecond } from "../../once-per-second.ts";
import { renderReason, type Sentence } from "../../reason/reason.ts";
import { RecentEntries } from "./recent-entries.ts";

/** A JWT that was refused as the code of a client. */
export interface RefusedToken {
  cause: Sentence;
  /** The user that the token names; empty: none. */
  userId: string;
  /** Whether the signature is right. Otherwise anybody can have written the user into the token. */
  isSigned: boolean;
}

/** `atMs`: by the steady clock. */
type Entry = RefusedToken & { atMs: number };

const maxEntries = 1_000;
const maxListed = 10;

/**
 * The last refused JWTs. Those without a right signature have a limit of their own, so that strangers cannot displace the
 * others. The log has at most one line a second for each kind of cause, whoever sends the tokens.
 */
export class RefusedTokens {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #isTracing: boolean;
  readonly #signed = new RecentEntries<Entry>(limits);
  readonly #unsigned = new RecentEntries<Entry>(limits);
  /** By the code of the cause: the newest, and the limited report of it. */
  readonly #reports = new Map<Sentence["code"], { newest: RefusedToken; report: () => void }>();

  constructor(isTracing: boolean, clock: Clock, log: Logger) {
    this.#isTracing = isTracing;
    this.#clock = clock;
    this.#log = log;
  }

  add(refused: RefusedToken): void {
    this.#report(refused);
    if (!this.#isTracing || refused.userId === "") return;
    const entries = refused.isSigned ? this.#signed : this.#unsigned;
    entries.add({ ...refused, atMs: this.#clock.now() });
  }

  /** The newest first, up to ten with and ten without a right signature. */
  ofUser(userId: string): Entry[] {
    return [this.#signed, this.#unsigned]
      .flatMap((entries) =>
        [...entries.newestFirst()].filter((entry) => entry.userId === userId).slice(0, maxListed),
      )
      .sort((a, b) => b.atMs - a.atMs);
  }

  #report(refused: RefusedToken): void {
    const { code } = refused.cause;
    const known = this.#reports.get(code) ?? { newest: refused, report: this.#reportOf(code) };
    known.newest = refused;
    this.#reports.set(code, known);
    known.report();
  }

  #reportOf(code: Sentence["code"]): () => void {
    return oncePerSecond(this.#clock, (count) => {
      const newest = this.#reports.get(code)?.newest;
      if (!newest) return;
      const { cause, userId, isSigned } = newest;
      this.#log.info({ count, cause: code, userId, isSigned, reason: renderReason(cause) }, "JWTs refused");
    });
  }
}

const limits = {
  maxEntries,
  maxBytes: Number.POSITIVE_INFINITY,
  bytesOf: () => 0,
  onDropped: () => {},
};
