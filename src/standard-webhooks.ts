import { createHmac } from "node:crypto";

/** Headers of https://www.standardwebhooks.com, for outgoing notifications and incoming deliveries. */
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

/** The headers of a request. Without a secret it is not signed. */
export function webhookHeaders(
  id: string,
  timestamp: number,
  body: string,
  secret: string | null,
): Record<string, string> {
  const headers = { [standardHeaders.id]: id, [standardHeaders.timestamp]: String(timestamp) };
  if (secret === null) return headers;
  const signature = standardDigest(secret, id, String(timestamp), body).toString("base64");
  return { ...headers, [standardHeaders.signature]: `v1,${signature}` };
}

/**
 * `whsec_…` contains the key in base64. Any other text is the key itself, also a `whsec_` without valid base64, which
 * would otherwise decode to an empty key that everybody knows.
 */
function keyOf(secret: string): Uint8Array {
  const encoded = /^whsec_([\w+/-]{2,}={0,2})$/.exec(secret)?.[1];
  return encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, "base64");
}
