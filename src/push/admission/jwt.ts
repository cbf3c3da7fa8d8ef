import type { RefusedToken } from "../trace/refused-tokens.ts";
import type { VerifiedCode, VerifyRequest } from "./verified-code.ts";

/** A valid token. `singleUse` names the token if it may be used only once. */
export interface VerifiedJwt {
  verified: VerifiedCode;
  singleUse: string | null;
}

/** Why a token is not accepted: for operators, while the client learns only the status. */
export interface JwtRefusal extends RefusedToken {
  /** Whether the same token may be accepted later: its key could not be looked up. */
  isTemporary: boolean;
}

export type VerifyJwt = (request: VerifyRequest) => Promise<VerifiedJwt | JwtRefusal>;

/** Whether the code has the form of a JWT; no other code of this form is accepted where JWTs are. */
export function hasJwtForm(code: string): boolean {
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(code);
}
