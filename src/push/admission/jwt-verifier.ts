import { decodeProtectedHeader, errors, type JWTHeaderParameters, type JWTPayload, jwtVerify } from "jose";
import type { Clock } from "../../clock.ts";
import type { VerifyJwt } from "./jwt.ts";
import type { KeySet } from "./key-set.ts";
import {
  type ForeignCodeRules,
  readVerifiedCode,
  refusesTemporary,
  withoutConsole,
} from "./verified-code.ts";

export interface JwtKeys {
  /** For HS256. */
  secrets: readonly Uint8Array[];
  /** For the other algorithms. */
  keySets: readonly KeySet[];
}

export interface JwtOptions extends ForeignCodeRules {
  /** The keys of this moment. */
  keys: () => JwtKeys;
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

/**
 * Verifies codes that are JWTs. The kind of key decides the algorithm, whatever the token says: a secret is used for HS256
 * only, a public key never for HS256.
 */
export function buildJwtVerifier(options: JwtOptions): VerifyJwt {
  return async (request) => {
    const header = headerOf(request.code);
    const payload = header && (await payloadOf(request.code, header, options));
    if (!payload) return null;
    const { sub, exp = 0, temporary, lifetime, channels } = payload;
    const expiresAt = (exp + skewSeconds) * 1000;
    const given = { userId: sub, temporary, maxLifetime: lifetime, channels, expiresAt };
    const read = readVerifiedCode(given, request.asksTemporary);
    if (!read || refusesTemporary(given, request.asksTemporary, options)) return null;
    const verified = withoutConsole(read, false, options);
    const singleUse = singleUseOf(payload, options.clock.now());
    return verified === "rejected" || singleUse === "invalid" ? null : { verified, singleUse };
  };
}

function headerOf(code: string): JWTHeaderParameters | null {
  try {
    const { alg, ...header } = decodeProtectedHeader(code);
    return typeof alg === "string" ? { ...header, alg } : null;
  } catch {
    return null;
  }
}

async function payloadOf(
  code: string,
  header: JWTHeaderParameters,
  { keys: currentKeys, issuer, audience, clock }: JwtOptions,
): Promise<JWTPayload | null> {
  const { secrets, keySets } = currentKeys();
  const keys = header.alg === "HS256" ? secrets : await publicKeysOf(header, keySets);
  const algorithms = header.alg === "HS256" ? ["HS256"] : publicKeyAlgorithms;
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
      return payload;
    } catch (error) {
      // Another key may have signed it.
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) return null;
    }
  }
  return null;
}

async function publicKeysOf(header: JWTHeaderParameters, keySets: readonly KeySet[]): Promise<CryptoKey[]> {
  if (!publicKeyAlgorithms.includes(header.alg)) return [];
  const found: CryptoKey[] = [];
  for (const keySet of keySets) found.push(...(await keySet(header)));
  return found;
}

/** Null: the token may be used again. A token with `jti` is accepted for a short time after `iat`. */
function singleUseOf({ jti, iat, iss }: JWTPayload, nowMs: number): string | null | "invalid" {
  if (jti === undefined) return null;
  if (typeof jti !== "string" || jti === "" || jti.length > maxTokenIdLength) return "invalid";
  const ageSeconds = nowMs / 1000 - (iat ?? Number.NEGATIVE_INFINITY);
  if (ageSeconds > singleUseSeconds + skewSeconds || ageSeconds < -skewSeconds) return "invalid";
  return JSON.stringify([iss ?? "", jti]);
}
