import type { Clock } from "../../clock.ts";
import type { Expiring } from "../connection/connection.ts";
import type { VerifiedCode } from "./verified-code.ts";

export interface ExpiryOptions {
  /** Whether a connection ends when its code does. */
  expiresWithCode: boolean;
  /** After this time every connection needs a new code; 0: never. */
  maxLifetimeMs: number;
}

/** Some services use their largest number for "unlimited"; the end must still be a valid date. */
export const longestLifetimeMs = 100 * 365 * 24 * 3_600_000;
/** How long before the end a client is asked for a new code, of a connection that lives longer than twice this. */
const leadMs = 60_000;

/** When connections need a new code. */
export class Expiry {
  readonly #options: ExpiryOptions;
  readonly #clocks: { clock: Clock; steady: Clock };

  constructor(options: ExpiryOptions, clocks: { clock: Clock; steady: Clock }) {
    this.#options = options;
    this.#clocks = clocks;
  }

  /** For a code that was verified just now; in times of the steady clock. */
  of({ expiresAtMs }: Pick<VerifiedCode, "expiresAtMs">): Expiring {
    const { expiresWithCode, maxLifetimeMs } = this.#options;
    const { clock, steady } = this.#clocks;
    const codeMs = expiresWithCode && expiresAtMs !== null ? expiresAtMs - clock.now() : null;
    if (codeMs === null && maxLifetimeMs === 0) return { expiresAtMs: 0, refreshAtMs: 0 };
    const leftMs = Math.max(1, Math.min(codeMs ?? Infinity, maxLifetimeMs || Infinity, longestLifetimeMs));
    const nowMs = steady.now();
    return { expiresAtMs: nowMs + leftMs, refreshAtMs: nowMs + leftMs - Math.min(leadMs, leftMs / 2) };
  }
}
