import { generateKeyPair, type JWTPayload, SignJWT } from "jose";

export const jwtSecret = "a secret of the shop that is long enough";

/** A code that is a JWT, for a minute unless the claims say otherwise. */
export function signedCode(
  claims: JWTPayload,
  key: CryptoKey | Uint8Array = Buffer.from(jwtSecret),
  header: { alg: string; kid?: string } = { alg: "HS256" },
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({ iat: now, exp: now + 60, ...claims }).setProtectedHeader(header).sign(key);
}

export const newKeyPair = (alg: string) => generateKeyPair(alg, { extractable: true });
