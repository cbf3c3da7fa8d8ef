import type { Clock } from "../../clock.ts";
import type { RefusalReason } from "./refusals.ts";

/** The result of a valid code: the user, and the rules for the connection. */
export interface VerifiedCode {
  userId: string;
  /** Whether it is a view of the console; only these may join channels of the console. */
  isConsole: boolean;
  isTemporary: boolean;
  /** Maximum lifetime of a temporary connection; 0: unlimited; null: push.temp-max-lifetime. */
  maxLifetimeMs: number | null;
  /** Names and globs that the connection may join; null: push.public-channels. */
  channels: readonly string[] | null;
  /** Whether the connection joins the names without wildcards among `channels` at once. */
  joinsChannels: boolean;
}

export interface VerifyRequest {
  code: string;
  asksTemporary: boolean;
  address: string;
  origin: string | null;
}

export type VerifyResult = VerifiedCode | Extract<RefusalReason, "rejected" | "verify_unavailable">;

/** Codes with this prefix were issued by Slipway; the deploy service verifies them even if verify-uri is set. */
export const ownCodePrefix = "slpc_";

/** Null: the code is unknown, used or expired. */
export type OwnCodes = (request: VerifyRequest) => Promise<VerifiedCode | null>;

export interface CodeVerifierParts {
  own: OwnCodes | null;
  remote: ((request: VerifyRequest) => Promise<VerifyResult>) | null;
  observe: (seconds: number, result: string) => void;
  clock: Clock;
  onFault: (error: unknown) => void;
}

export class CodeVerifier {
  readonly #parts: CodeVerifierParts;

  constructor(parts: CodeVerifierParts) {
    this.#parts = parts;
  }

  /** Whether the code is verified by this process. */
  isOwn(code: string): boolean {
    return this.#parts.own !== null && code.startsWith(ownCodePrefix);
  }

  /** Never throws: a code that cannot be verified is refused. */
  async verify(request: VerifyRequest): Promise<VerifyResult> {
    const { clock, observe, onFault } = this.#parts;
    const startedAtMs = clock.now();
    let verdict: VerifyResult = "verify_unavailable";
    try {
      verdict = await this.#verify(request);
    } catch (error) {
      onFault(error);
    }
    observe((clock.now() - startedAtMs) / 1000, typeof verdict === "string" ? verdict : "verified");
    return verdict;
  }

  async #verify(request: VerifyRequest): Promise<VerifyResult> {
    const { own, remote } = this.#parts;
    if (own && this.isOwn(request.code)) return (await own(request)) ?? "rejected";
    return remote ? remote(request) : "rejected";
  }
}
