import type { Clock } from "../../clock.ts";
import type { RefusalReason } from "./refusals.ts";

/** Who a code stands for, and what the server decided about the connection. */
export interface Identity {
  userId: string;
  /** A connection of the console: only such connections may join the console's channels. */
  isConsole: boolean;
  isTemporary: boolean;
  /** Lifetime of a temporary connection; 0: none; null: push.temp-max-lifetime. */
  maxLifetimeMs: number | null;
  /** Names and globs that may be joined; null: push.public-channels. */
  channels: readonly string[] | null;
  /** Whether the plain names among `channels` are joined at once. */
  joinsChannels: boolean;
}

export interface CodeQuestion {
  code: string;
  asksTemporary: boolean;
  address: string;
  origin: string | null;
}

export type Verdict = Identity | Extract<RefusalReason, "rejected" | "verify_unavailable">;

/** Codes of our own carry this prefix and are checked by us even when verify-uri is set. */
export const ownCodePrefix = "slpc_";

/** Null: the code is unknown, used or expired. */
export type OwnCodes = (question: CodeQuestion) => Promise<Identity | null>;

export interface CodeVerifierParts {
  own: OwnCodes | null;
  remote: ((question: CodeQuestion) => Promise<Verdict>) | null;
  observe: (seconds: number, result: string) => void;
  clock: Clock;
  onFault: (error: unknown) => void;
}

export class CodeVerifier {
  readonly #parts: CodeVerifierParts;

  constructor(parts: CodeVerifierParts) {
    this.#parts = parts;
  }

  /** Never throws: what cannot be verified is refused. */
  async verify(question: CodeQuestion): Promise<Verdict> {
    const { clock, observe, onFault } = this.#parts;
    const startedAtMs = clock.now();
    let verdict: Verdict = "verify_unavailable";
    try {
      verdict = await this.#ask(question);
    } catch (error) {
      onFault(error);
    }
    observe((clock.now() - startedAtMs) / 1000, typeof verdict === "string" ? verdict : "verified");
    return verdict;
  }

  async #ask(question: CodeQuestion): Promise<Verdict> {
    const { own, remote } = this.#parts;
    if (own && question.code.startsWith(ownCodePrefix)) return (await own(question)) ?? "rejected";
    return remote ? remote(question) : "rejected";
  }
}
