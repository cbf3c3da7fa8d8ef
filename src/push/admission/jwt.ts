import type { VerifiedCode, VerifyRequest } from "./verified-code.ts";

/** A valid token. `singleUse` names the token if it may be used only once. */
export interface VerifiedJwt {
  verified: VerifiedCode;
  singleUse: string | null;
}

/** Null: the token is not valid. Rejects if the keys cannot be had now. */
export type VerifyJwt = (request: VerifyRequest) => Promise<VerifiedJwt | null>;

/** Whether the code has the form of a JWT; no other code of this form is accepted where JWTs are. */
export function hasJwtForm(code: string): boolean {
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(code);
}
