import { createHmac } from "node:crypto";

/** Signatures of requests as https://www.standardwebhooks.com describes them: ours going out, those of others coming in. */
export const standardHeaders = {
  id: "webhook-id",
  timestamp: "webhook-timestamp",
  signature: "webhook-signature",
} as const;

/** HMAC-SHA256 over `id.timestamp.body`, with the timestamp in seconds. */
export function standardDigest(
  secret: string,
  id: string,
  timestamp: string,
  body: string | Uint8Array,
): Buffer {
  return createHmac("sha256", keyOf(secret)).update(`${id}.${timestamp}.`).update(body).digest();
}

/**
 * `whsec_…` carries the key in base64; any other text is the key itself, also one that only starts so: it would read as
 * an empty key, which everybody knows.
 */
function keyOf(secret: string): Uint8Array {
  const encoded = /^whsec_([\w+/-]{2,}={0,2})$/.exec(secret)?.[1];
  return encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, "base64");
}
