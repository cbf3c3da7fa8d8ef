import { timingSafeEqual } from "node:crypto";
import { isSameSecret } from "../../secrets.ts";
import { standardDigest, standardHeaders } from "../../standard-webhooks.ts";
import { firstHeader, type HeaderValues } from "../delivery/headers.ts";

/** The parts of a request that its verification needs. */
export interface SignedRequest {
  /** The raw bytes: nothing is decoded before verification. */
  body: Uint8Array;
  headers: HeaderValues;
  query: { get(name: string): string | null };
  /** JSON inside a form body (`payload=…`); null for other bodies. */
  formPayload: () => Uint8Array | null;
}

/** How a delivery proves that its sender knows the secret. */
export interface Proof {
  /** The first header that is not empty counts. */
  headers: readonly string[];
  /** Query parameter that may carry it instead. */
  parameter?: string;
  /** Before a digest. */
  prefix: string;
  /** A digest of the body; otherwise the secret itself may be sent. */
  isDigest: boolean;
  /** A signature of Standard Webhooks is accepted. */
  acceptsStandard: boolean;
  /** The time that the proof names, if it names one and is not of Standard Webhooks. */
  sentAtMs?(request: SignedRequest): number;
  /** `given` is what the request carries. In constant time, also without a proof. */
  isSignedBy(secret: string, given: string, request: SignedRequest, nowMs: number): boolean;
}

/** How a project configures the proof of a generic sender. `standard` is the signature of Standard Webhooks. */
export interface ConfiguredProof {
  secretHeader: string;
  secretQuery: string;
  verifyMode: "token" | "hmac" | "standard";
  signaturePrefix: string;
  signatureEncoding: "hex" | "base64";
}

/** The signature or token of the request, from where this proof is expected; "" if there is none. */
export function givenProof({ headers, parameter }: Proof, request: SignedRequest): string {
  const inQuery = parameter === undefined ? null : request.query.get(parameter);
  return firstHeader(request.headers, headers) || (inQuery ?? "");
}

/** Whether the request proves that its sender knows the secret. */
export function isSignedBy(secret: string, proof: Proof, request: SignedRequest, nowMs: number): boolean {
  return proof.isSignedBy(secret, givenProof(proof, request), request, nowMs);
}

/** The secret itself. */
export function tokenProof(...headers: string[]): Proof {
  return {
    ...{ headers, prefix: "", isDigest: false, acceptsStandard: false },
    isSignedBy: (secret, given) => isSameSecret(given, secret),
  };
}

export interface HmacOptions {
  prefix?: string;
  encoding?: "hex" | "base64";
  /** Of a form body, the host signs the JSON inside. */
  signsFormPayload?: boolean;
}

/** HMAC-SHA256 of the body. */
export function hmacProof(headers: readonly string[], options: HmacOptions = {}): Proof {
  const { prefix = "", encoding = "hex", signsFormPayload = false } = options;
  return {
    ...{ headers, prefix, isDigest: true, acceptsStandard: false },
    isSignedBy(secret, given, request) {
      const digest = withoutPrefix(given, prefix);
      if (isDigest(digest, hmacOf(secret, request.body), encoding)) return true;
      const form = signsFormPayload ? request.formPayload() : null;
      return form !== null && isDigest(digest, hmacOf(secret, form), encoding);
    },
  };
}

/** A key rotation needs two; more signatures in one header are ignored to limit the work. */
const maxSignatures = 20;
/** As Standard Webhooks specifies. */
const standardToleranceMs = 300_000;

/** Standard Webhooks: one of the signatures, separated by spaces, must match in version 1. Valid for five minutes. */
export const standardProof: Proof = {
  headers: [standardHeaders.signature],
  ...{ prefix: "", isDigest: false, acceptsStandard: true },
  isSignedBy(secret, _given, { headers, body }, nowMs) {
    const signatures = firstHeader(headers, [standardHeaders.signature]);
    const id = firstHeader(headers, [standardHeaders.id]);
    const timestamp = firstHeader(headers, [standardHeaders.timestamp]);
    if (signatures === "" || id === "" || !/^\d{1,12}$/.test(timestamp)) return false;
    const digest = standardDigest(secret, id, timestamp, body);
    const matching = signatures
      .split(" ", maxSignatures)
      .filter((entry) => entry.startsWith("v1,") && isDigest(entry.slice("v1,".length), digest, "base64"));
    return matching.length > 0 && Math.abs(nowMs - Number(timestamp) * 1000) <= standardToleranceMs;
  },
};

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
