import type { Clock } from "../../clock.ts";
import { newReason } from "../../reason/reason.ts";
import { hasJwtForm, type JwtRefusal, type VerifyJwt } from "./jwt.ts";
import type { RefusalReason } from "./refusals.ts";
import type { SingleUse } from "./single-use.ts";
import type { VerifiedCode, VerifyRequest } from "./verified-code.ts";

export type VerifyResult = VerifiedCode | Extract<RefusalReason, "rejected" | "verify_unavailable">;

/** Codes with this prefix were issued by Slipway; the deploy service verifies them even if verify-uri is set. */
export const ownCodePrefix = "slpc_";

/** Null: the code is unknown, used or expired. */
export type OwnCodes = (request: VerifyRequest) => Promise<VerifiedCode | null>;

export interface CodeVerifierParts {
  own: OwnCodes | null;
  /** Null: codes are no JWTs. */
  jwt: VerifyJwt | null;
  singleUse: Pick<SingleUse, "claim">;
  onJwtRefused: (refusal: JwtRefusal) => void;
  remote: ((request: VerifyRequest) => Promise<VerifyResult>) | null;
  observe: (seconds: number, result: string) => void;
  clock: Clock;
  onFault: (error: unknown) => void;
}

/** Asks for a code in this order: Slipway itself, if it issued the code; the keys of JWTs; verify-uri. */
export class CodeVerifier {
  readonly #parts: CodeVerifierParts;
  /** Whether the last code could not be verified. */
  #isUnavailable = false;

  constructor(parts: CodeVerifierParts) {
    this.#parts = parts;
  }

  get isUnavailable(): boolean {
    return this.#isUnavailable;
  }

  /** Whether the code is verified without calling another service. */
  isLocal(code: string): boolean {
    return this.#isOwn(code) || this.#isJwt(code);
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
    this.#isUnavailable = verdict === "verify_unavailable";
    observe((clock.now() - startedAtMs) / 1000, typeof verdict === "string" ? verdict : "verified");
    return verdict;
  }

  async #verify(request: VerifyRequest): Promise<VerifyResult> {
    const { own, jwt, remote } = this.#parts;
    if (own && this.#isOwn(request.code)) return (await own(request)) ?? "rejected";
    if (jwt && this.#isJwt(request.code)) return this.#verifyJwt(jwt, request);
    return remote ? remote(request) : "rejected";
  }

  async #verifyJwt(jwt: VerifyJwt, request: VerifyRequest): Promise<VerifyResult> {
    const { singleUse, onJwtRefused } = this.#parts;
    const token = await jwt(request);
    if ("cause" in token) {
      onJwtRefused(token);
      return token.isTemporary ? "verify_unavailable" : "rejected";
    }
    if (token.singleUse === null || (await singleUse.claim(token.singleUse))) return token.verified;
    const { userId } = token.verified;
    onJwtRefused({ cause: newReason("jwt_used"), isTemporary: false, userId, isSigned: true });
    return "rejected";
  }

  #isOwn(code: string): boolean {
    return this.#parts.own !== null && code.startsWith(ownCodePrefix);
  }

  #isJwt(code: string): boolean {
    return this.#parts.jwt !== null && hasJwtForm(code);
  }
}
