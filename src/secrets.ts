import { Fault } from "./errors.ts";

/**
 * Encrypts secrets at rest with AES-256-GCM. `purpose` names the place of a ciphertext ("project 7 secret TOKEN") and is
 * authenticated with it, so that a ciphertext copied to another place cannot be decrypted.
 */
export interface Secrets {
  seal(purpose: string, plaintext: string): string;
  /** Throws when the ciphertext was not sealed by this key for this purpose. */
  open(purpose: string, ciphertext: string): string;
}

const version = "v1";
const nonceBytes = 12;
const tagBytes = 16;

export function buildSecrets(key: Uint8Array): Secrets {
  if (key.length !== 32) throw new Fault("invalid", "The encryption key must be 32 bytes.");
  // Loaded only here: it takes 10 ms, and a gateway alone needs none of it.
  const { createCipheriv, createDecipheriv } = process.getBuiltinModule("node:crypto");
  return {
    seal(purpose, plaintext) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(purpose));
      const sealed = Buffer.concat([
        nonce,
        cipher.update(plaintext, "utf8"),
        cipher.final(),
        cipher.getAuthTag(),
      ]);
      return `${version}.${sealed.toString("base64url")}`;
    },
    open(purpose, ciphertext) {
      const [head, encoded] = ciphertext.split(".");
      const sealed = Buffer.from(encoded ?? "", "base64url");
      if (head !== version || sealed.length < nonceBytes + tagBytes)
        throw new Fault("internal", `The stored secret of ${purpose} is damaged.`);
      try {
        const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, nonceBytes))
          .setAAD(Buffer.from(purpose))
          .setAuthTag(sealed.subarray(-tagBytes));
        const opened = [decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()];
        return Buffer.concat(opened).toString("utf8");
      } catch (cause) {
        throw new Fault("internal", `The stored secret of ${purpose} does not open with the current key.`, {
          cause,
        });
      }
    },
  };
}

/** Size in bytes of what a ciphertext hides. */
export function sealedBytes(ciphertext: string): number {
  const encoded = ciphertext.length - ciphertext.indexOf(".") - 1;
  return Math.max(0, Math.floor((encoded * 3) / 4) - nonceBytes - tagBytes);
}

/** Random bytes as text: `slp_…` tokens, hook keys, leases. */
export function randomToken(bytes: number, encoding: "hex" | "base64" | "base64url" = "base64url"): string {
  return Buffer.from(randomBytes(bytes).buffer).toString(encoding);
}

function randomBytes(count: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(count));
}

/** Tokens are stored and looked up by this hash. */
export function hashToken(token: string): string {
  return new Bun.CryptoHasher("sha256").update(token).digest("hex");
}

const compareKey = randomBytes(32);

/** A keyed hash, for comparisons in constant time: it has the same length for every value, and the key is of this process. */
export function comparableHash(value: string | Uint8Array): Uint8Array {
  return new Bun.CryptoHasher("sha256", compareKey).update(value).digest();
}

/** Constant time in content and length, because both sides are hashed first. */
export function isSameSecret(a: string | Uint8Array, b: string | Uint8Array): boolean {
  return crypto.timingSafeEqual(comparableHash(a), comparableHash(b));
}

export const keyBytes = 32;

/** Decodes a key of 32 bytes from base64 or hex; null if the text is neither. */
export function decodeKey(text: string): Uint8Array | null {
  const trimmed = text.trim();
  const key = Buffer.from(trimmed, /^[0-9a-f]{64}$/i.test(trimmed) ? "hex" : "base64");
  return key.length === keyBytes && /^[\w+/=-]+$/.test(trimmed) ? key : null;
}
