import type { Clock } from "../../clock.ts";
import type { Expiring } from "../connection/connection.ts";
import type { VerifiedCode } from "./verified-code.ts";

export interface ExpiryOptions {
  /** Whether a connection ends when its code does. */
  expiresWithCode: boolean;
  /** After this time every connection needs a new code; 0: never. */
  maxLifetimeMs: number;
}

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
    const codeMs = expiresWithCode && expiresAtMs !== null ? expiresAtMs - clock.now() : Infinity;
    const leftMs = Math.max(1, Math.min(codeMs, maxLifetimeMs > 0 ? maxLifetimeMs : Infinity));
    if (leftMs === Infinity) return { expiresAtMs: 0, refreshAtMs: 0 };
    const nowMs = steady.now();
    return { expiresAtMs: nowMs + leftMs, refreshAtMs: nowMs + leftMs - Math.min(leadMs, leftMs / 2) };
  }
}
