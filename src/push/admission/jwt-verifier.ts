import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTHeaderParameters,
  type JWTPayload,
  jwtVerify,
} from "jose";
import type { Clock } from "../../clock.ts";
import { newReason, type Sentence } from "../../reason/reason.ts";
import { isUserId } from "../message/user-id.ts";
import type { JwtRefusal, VerifyJwt } from "./jwt.ts";
import type { FindKeys, RotatingKeys } from "./key-set.ts";
import {
  type ForeignCodeRules,
  readVerifiedCode,
  refusesTemporary,
  withoutConsole,
} from "./verified-code.ts";

export interface JwtKeys {
  /** For HS256. */
  secrets: readonly Uint8Array[];
  /** For the other algorithms: of push.jwt.key-file. Null: not set. */
  fileKeys: FindKeys | null;
}

export interface JwtOptions extends ForeignCodeRules {
  /** The keys of this moment. */
  keys: () => JwtKeys;
  /** Of push.jwt.jwks-url. Null: not set. */
  urlKeys: RotatingKeys | null;
  /** Undefined: any. */
  issuer: string | undefined;
  audience: string | undefined;
  clock: Clock;
}

const publicKeyAlgorithms = ["RS256", "ES256", "EdDSA", "Ed25519"];
const skewSeconds = 30;
/** Used tokens are remembered for longer than this, see `singleUseWindowMs`. */
const singleUseSeconds = 5 * 60;
const maxTokenIdLength = 255;
/** Longer values of a token are cut off where they are reported. */
const maxReportedLength = 100;

/**
 * Verifies codes that are JWTs. The kind of key decides the algorithm, whatever the token says: a secret is used for HS256
 * only, a public key never for HS256.
 */
export function buildJwtVerifier(options: JwtOptions): VerifyJwt {
  return async (request) => {
    const checked = await check(request.code, options);
    if ("refused" in checked) return checked.refused;
    const { payload } = checked;
    const { sub, exp = 0, temporary, lifetime, channels } = payload;
    const refuse = (cause: Sentence) => refusal(cause, payload, true);
    const expiresAt = (exp + skewSeconds) * 1000;
    const given = { userId: sub, temporary, maxLifetime: lifetime, channels, expiresAt };
    const read = readVerifiedCode(given, request.asksTemporary);
    if (!read) return refuse(newReason("jwt_form"));
    if (refusesTemporary(given, request.asksTemporary, options)) return refuse(newReason("jwt_temporary"));
    const verified = withoutConsole(read, false, options);
    if (verified === "rejected") return refuse(newReason("jwt_console_user"));
    const singleUse = singleUseOf(payload, options.clock.now());
    return typeof singleUse === "object" && singleUse ? refuse(singleUse) : { verified, singleUse };
  };
}

type Checked = { payload: JWTPayload } | { refused: JwtRefusal };

/** Checks the signature and the registered claims. */
async function check(code: string, options: JwtOptions): Promise<Checked> {
  const header = headerOf(code);
  if (!header) return { refused: refusal(newReason("jwt_malformed"), {}, false) };
  const refuse = (cause: Sentence, isTemporary = false) => ({
    refused: refusal(cause, claimsOf(code), false, isTemporary),
  });
  if (header.alg === "HS256")
    return (
      (await checkWith(code, options.keys().secrets, ["HS256"], options)) ??
      refuse(newReason("jwt_signature"))
    );
  if (!publicKeyAlgorithms.includes(header.alg))
    return refuse(newReason("jwt_algorithm", { algorithm: shortened(header.alg) }));
  const byKnown = await checkWith(code, await keysOf(header, options), publicKeyAlgorithms, options);
  if (byKnown) return byKnown;
  const kid = shortened(header.kid ?? "");
  // A key that is not known yet, or known under this name with other contents, may have signed it.
  const isCurrent = options.urlKeys === null || (await options.urlKeys.update());
  const keys = await keysOf(header, options);
  const byNew = options.urlKeys && (await checkWith(code, keys, publicKeyAlgorithms, options));
  if (byNew) return byNew;
  if (!isCurrent) return refuse(newReason("jwt_key_unread", { kid }), true);
  return refuse(keys.length > 0 ? newReason("jwt_signature") : newReason("jwt_unknown_key", { kid }));
}

async function keysOf(header: JWTHeaderParameters, { keys, urlKeys }: JwtOptions): Promise<CryptoKey[]> {
  const { fileKeys } = keys();
  return [...((await fileKeys?.(header)) ?? []), ...((await urlKeys?.find(header)) ?? [])];
}

/** Null: none of the keys has signed it. */
async function checkWith(
  code: string,
  keys: readonly (CryptoKey | Uint8Array)[],
  algorithms: string[],
  options: JwtOptions,
): Promise<Checked | null> {
  const { issuer, audience, clock } = options;
  for (const key of keys) {
    try {
      const { payload } = await jwtVerify(code, key, {
        algorithms,
        clockTolerance: skewSeconds,
        currentDate: new Date(clock.now()),
        requiredClaims: ["sub", "exp"],
        ...(issuer === undefined ? {} : { issuer }),
        ...(audience === undefined ? {} : { audience }),
      });
      return { payload };
    } catch (error) {
      if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired)
        return { refused: refusal(causeOf(error, options), error.payload, true) };
      // Another key may have signed it.
      if (!(error instanceof errors.JWSSignatureVerificationFailed))
        return { refused: refusal(newReason("jwt_malformed"), {}, false) };
    }
  }
  return null;
}

function causeOf(
  { claim, reason, payload }: errors.JWTClaimValidationFailed | errors.JWTExpired,
  { issuer = "", audience = "", clock }: JwtOptions,
): Sentence {
  const now = timeText(clock.now() / 1000);
  if (reason !== "check_failed") return newReason("jwt_claim", { claim });
  if (claim === "exp") return newReason("jwt_expired", { at: timeText(payload.exp), now });
  if (claim === "nbf") return newReason("jwt_not_yet", { at: timeText(payload.nbf), now });
  if (claim === "aud")
    return newReason("jwt_audience", { given: shortened([payload.aud].flat().join(", ")), wanted: audience });
  if (claim === "iss") return newReason("jwt_issuer", { given: shortened(payload.iss), wanted: issuer });
  return newReason("jwt_claim", { claim });
}

function refusal(cause: Sentence, { sub }: JWTPayload, isSigned: boolean, isTemporary = false): JwtRefusal {
  const userId = typeof sub === "string" && isUserId(sub) ? sub : "";
  return { cause, isTemporary, userId, isSigned };
}

function headerOf(code: string): JWTHeaderParameters | null {
  try {
    const { alg, ...header } = decodeProtectedHeader(code);
    return typeof alg === "string" ? { ...header, alg } : null;
  } catch {
    return null;
  }
}

/** What the token says, whoever wrote it. */
function claimsOf(code: string): JWTPayload {
  try {
    return decodeJwt(code);
  } catch {
    return {};
  }
}

/** Null: the token may be used again. A token with `jti` is accepted for a short time after `iat`. A sentence: why not. */
function singleUseOf({ jti, iat, iss }: JWTPayload, nowMs: number): string | null | Sentence {
  if (jti === undefined) return null;
  if (typeof jti !== "string" || jti === "" || jti.length > maxTokenIdLength)
    return newReason("jwt_claim", { claim: "jti" });
  if (iat === undefined) return newReason("jwt_claim", { claim: "iat" });
  const ageSeconds = nowMs / 1000 - iat;
  if (ageSeconds > singleUseSeconds + skewSeconds || ageSeconds < -skewSeconds)
    return newReason("jwt_issued", { at: timeText(iat), now: timeText(nowMs / 1000) });
  return JSON.stringify([iss ?? "", jti]);
}

function shortened(text: unknown): string {
  const given = String(text ?? "");
  return given.length > maxReportedLength ? `${given.slice(0, maxReportedLength)}…` : given;
}

/** A token may name a time that no date has. */
function timeText(seconds: unknown): string {
  const date = new Date(Number(seconds) * 1000);
  return Number.isNaN(date.getTime()) ? shortened(seconds) : date.toISOString();
}
