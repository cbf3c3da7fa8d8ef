import { timingSafeEqual } from "node:crypto";
import { type WebhookConfig, webhookDefaults } from "../../model/webhook-config.ts";
import { isSameSecret } from "../../secrets.ts";
import { standardDigest, standardHeaders } from "../../standard-webhooks.ts";
import { firstHeader, type HeaderValues } from "../delivery/headers.ts";

/** How a delivery is authenticated, and by which header: the first header that is not empty counts. */
export type SignatureScheme =
  | {
      type: "hmac";
      headers: readonly string[];
      prefix: string;
      /** Of a form body, the host signs the JSON inside. */
      signsFormPayload?: boolean;
    }
  | {
      type: "token";
      headers: readonly string[];
      /** The host may send a Standard Webhooks signature instead of the secret. */
      orStandard?: boolean;
    }
  /** The password itself, or a signature of a timestamp with it. */
  | { type: "gitee"; headers: readonly string[]; timestampHeader: string }
  /** By the project's secretHeader, secretQuery, verifyMode, signaturePrefix and signatureEncoding. */
  | { type: "configured" };

/** The parts of a request that its verification needs. */
export interface SignedRequest {
  /** The raw bytes: nothing is decoded before verification. */
  body: Uint8Array;
  headers: HeaderValues;
  query: { get(name: string): string | null };
  /** JSON inside a form body (`payload=…`); null for other bodies. */
  formPayload: () => Uint8Array | null;
}

export type ConfiguredPlace = Pick<
  WebhookConfig,
  "secretHeader" | "secretQuery" | "verifyMode" | "signaturePrefix" | "signatureEncoding"
>;

/** Tolerated difference of a signed timestamp, as Gitee and Standard Webhooks specify. */
const giteeToleranceMs = 3_600_000;
const standardToleranceMs = 300_000;
/** A key rotation needs two; more signatures in one header are ignored to limit the work. */
const maxSignatures = 20;

/** Headers that can contain the proof of a host. */
export function proofHeadersOf(scheme: Exclude<SignatureScheme, { type: "configured" }>): readonly string[] {
  const isAlsoStandard = scheme.type === "token" && scheme.orStandard;
  return isAlsoStandard ? [...scheme.headers, standardHeaders.signature] : scheme.headers;
}

/** The signature or token of the request, from where this scheme expects it; "" if there is none. */
export function proofOf(scheme: SignatureScheme, place: ConfiguredPlace, request: SignedRequest): string {
  if (scheme.type !== "configured") return firstHeader(request.headers, proofHeadersOf(scheme));
  if (place.verifyMode === "standard") return firstHeader(request.headers, [standardHeaders.signature]);
  const header = place.secretHeader.trim() || webhookDefaults.secretHeader;
  const parameter = place.secretQuery.trim() || webhookDefaults.secretQuery;
  return firstHeader(request.headers, [header]) || (request.query.get(parameter) ?? "");
}

/** Whether the request proves that its sender knows the secret. In constant time, also without a proof. */
export function isSignedBy(
  secret: string,
  scheme: SignatureScheme,
  place: ConfiguredPlace,
  request: SignedRequest,
  nowMs: number,
): boolean {
  const proof = proofOf(scheme, place, request);
  switch (scheme.type) {
    case "token":
      if (isSameSecret(proof, secret)) return true;
      return scheme.orStandard === true && isStandardSigned(secret, request, nowMs);
    case "hmac":
      return isHmacSigned(secret, scheme, proof, request);
    case "gitee":
      return isGiteeSigned(secret, proof, firstHeader(request.headers, [scheme.timestampHeader]), nowMs);
    case "configured":
      return isSignedAsConfigured(secret, place, proof, request, nowMs);
  }
}

function isSignedAsConfigured(
  secret: string,
  { verifyMode, signaturePrefix, signatureEncoding }: ConfiguredPlace,
  proof: string,
  request: SignedRequest,
  nowMs: number,
): boolean {
  switch (verifyMode) {
    case "token":
      return isSameSecret(proof, secret);
    case "hmac":
      return isDigest(withoutPrefix(proof, signaturePrefix), hmacOf(secret, request.body), signatureEncoding);
    case "standard":
      return isStandardSigned(secret, request, nowMs);
  }
}

function isHmacSigned(
  secret: string,
  scheme: Extract<SignatureScheme, { type: "hmac" }>,
  proof: string,
  request: SignedRequest,
): boolean {
  const digest = withoutPrefix(proof, scheme.prefix);
  if (isDigest(digest, hmacOf(secret, request.body), "hex")) return true;
  const form = scheme.signsFormPayload ? request.formPayload() : null;
  return form !== null && isDigest(digest, hmacOf(secret, form), "hex");
}

/** Password mode sends the secret; sign mode sends base64(HMAC(secret, timestamp LF secret)), valid for an hour. */
function isGiteeSigned(secret: string, proof: string, timestamp: string, nowMs: number): boolean {
  if (isSameSecret(proof, secret)) return true;
  const sentAtMs = /^\d{10,16}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
  const expected = hmacOf(secret, Buffer.from(`${timestamp}\n${secret}`)).toString("base64");
  const isSigned = isSameSecret(proof, expected) || isSameSecret(proof, encodeURIComponent(expected));
  return isSigned && Math.abs(nowMs - sentAtMs) <= giteeToleranceMs;
}

/** Standard Webhooks: one of the signatures, separated by spaces, must match in version 1. Valid for five minutes. */
function isStandardSigned(secret: string, { headers, body }: SignedRequest, nowMs: number): boolean {
  const signatures = firstHeader(headers, [standardHeaders.signature]);
  const id = firstHeader(headers, [standardHeaders.id]);
  const timestamp = firstHeader(headers, [standardHeaders.timestamp]);
  if (signatures === "" || id === "" || !/^\d{1,12}$/.test(timestamp)) return false;
  const digest = standardDigest(secret, id, timestamp, body);
  const matching = signatures
    .split(" ", maxSignatures)
    .filter((entry) => entry.startsWith("v1,") && isDigest(entry.slice("v1,".length), digest, "base64"));
  return matching.length > 0 && Math.abs(nowMs - Number(timestamp) * 1000) <= standardToleranceMs;
}

export function hmacOf(secret: string, body: Uint8Array): Buffer {
  return new Bun.CryptoHasher("sha256", secret).update(body).digest();
}

/** Hex in either case, base64 as it is. All digests have the same length, so the length check reveals nothing. */
export function isDigest(text: string, digest: Buffer, encoding: "hex" | "base64"): boolean {
  const given = Buffer.from(encoding === "hex" ? text.toLowerCase() : text);
  const expected = Buffer.from(digest.toString(encoding));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

export function withoutPrefix(text: string, prefix: string): string {
  return prefix !== "" && text.startsWith(prefix) ? text.slice(prefix.length) : text;
}
