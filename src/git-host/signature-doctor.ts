import { parseJson } from "../json.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import { isSameSecret } from "../secrets.ts";
import { standardHeaders } from "../standard-webhooks.ts";
import { firstHeader } from "./delivery/headers.ts";
import type { GitHost } from "./git-host.ts";
import { gitHosts } from "./hosts.ts";
import {
  givenProof,
  hmacOf,
  isDigest,
  isSignedBy,
  type Proof,
  type SignedRequest,
  standardProof,
  withoutPrefix,
} from "./proof/proof.ts";

/** Variants of larger bodies are not tried, to limit the work that an unauthenticated request causes. */
const maxTriedBytes = 256 * 1024;

export interface FailedSignature {
  /** Secrets that are accepted now. */
  secrets: readonly string[];
  /** Secrets that have expired. */
  endedSecrets: readonly string[];
  proof: Proof;
  request: SignedRequest;
  nowMs: number;
}

/**
 * The probable cause of a failed signature, for the record only. The response does not contain it, because it would help
 * an attacker.
 */
export function diagnose(failed: FailedSignature): Reason {
  const given = givenProof(failed.proof, failed.request);
  const empty = emptyHeaderOf(failed, given);
  if (empty !== null) return newReason("signature_empty_header", { header: empty });
  if (given === "") return missingProof(failed);
  const isOfBody = failed.proof.isDigest || isStandard(failed);
  return (
    causes.find(({ applies }) => applies(failed, given))?.text ??
    newReason(isOfBody ? "signature_differs_or_changed" : "signature_differs")
  );
}

/** Some hosts send only the prefix if they have no secret; a project may configure another prefix. */
const emptySignature = /^(sha(1|256|512)=|v1,)$/;

/** The header that is present but empty; null if there is none. A token, unlike a signature, may look like a prefix. */
function emptyHeaderOf(failed: FailedSignature, given: string): string | null {
  const { proof, request } = failed;
  const isEmpty =
    given === "" ||
    ((proof.isDigest || isStandard(failed)) && (emptySignature.test(given) || given === proof.prefix.trim()));
  const isSent = (name: string) => request.headers.get(name)?.trim() === given;
  return isEmpty ? (proof.headers.find(isSent) ?? null) : null;
}

function missingProof({ proof, request }: FailedSignature): Reason {
  const why = expectedProof(proof);
  const isSent = (names: readonly string[]) => firstHeader(request.headers, names) !== "";
  if (proof.parameter !== undefined && isSent([standardHeaders.signature]))
    return newReason("signature_missing_standard", { why, header: standardHeaders.signature });
  // GitHub sends a SHA-1 signature in addition to the SHA-256 one.
  const isOldAlone = firstHeader(request.headers, ["X-Hub-Signature-256", "X-Hub-Signature"]).startsWith(
    "sha1=",
  );
  if (isOldAlone) return newReason("signature_missing_sha256", { why });
  const others = Object.values<GitHost>(gitHosts).filter(
    (host) => typeof host.proof === "object" && isSent(host.proof.headers),
  );
  // Several hosts share a header, and Gitea also sends the headers of Gogs and GitHub: the last match in the list is the sender.
  const other = others.findLast(({ eventHeaders }) => isSent(eventHeaders)) ?? others[0];
  return other ? newReason("signature_missing_provider", { why, host: other.title }) : why;
}

function expectedProof(proof: Proof): Reason {
  const header = proof.headers.join(" or ");
  if (proof.parameter !== undefined)
    return newReason("signature_missing_both", { header, parameter: proof.parameter });
  return newReason(proof === standardProof ? "signature_missing_plain" : "signature_missing", { header });
}

interface Cause {
  text: Reason;
  applies(failed: FailedSignature, given: string): boolean;
}

const causes: Cause[] = [
  {
    text: newReason("signature_ended"),
    applies: (failed) => failed.endedSecrets.some((secret) => isSignedWith(failed, secret)),
  },
  {
    text: newReason("signature_empty_secret"),
    applies: (failed) => failed.proof.isDigest && isSignedWith(failed, ""),
  },
  {
    text: newReason("signature_space"),
    applies: (failed) =>
      failed.secrets.some((secret) =>
        [secret.trim(), `${secret}\n`, `${secret.trim()}\n`, `${secret}\r\n`].some(
          (variant) => variant !== secret && isSignedWith(failed, variant),
        ),
      ),
  },
  {
    text: newReason("signature_secret_sent"),
    applies: (failed, given) =>
      failed.proof.isDigest && failed.secrets.some((secret) => isSameSecret(given, secret)),
  },
  {
    text: newReason("signature_hmac_sent"),
    applies: (failed, given) => !failed.proof.isDigest && matchesDigest(failed, given, failed.request.body),
  },
  {
    text: newReason("signature_encoding"),
    applies: (failed, given) => failed.proof.isDigest && matchesDigest(failed, given, failed.request.body),
  },
  {
    text: newReason("signature_form"),
    applies: (failed, given) => {
      const form = failed.request.formPayload();
      return form !== null && matchesDigest(failed, given, form);
    },
  },
  {
    text: newReason("signature_newline"),
    applies: (failed, given) => {
      const trimmed = Buffer.from(failed.request.body).toString("latin1").trimEnd();
      return matchesDigest(failed, given, Buffer.from(trimmed, "latin1"));
    },
  },
  {
    text: newReason("signature_rewritten"),
    applies: (failed, given) => {
      const rewritten = rewrittenJson(failed.request.body);
      return rewritten !== null && matchesDigest(failed, given, rewritten);
    },
  },
  {
    text: newReason("signature_clock_hour"),
    applies: (failed) => {
      const nowMs = failed.proof.sentAtMs?.(failed.request);
      return nowMs !== undefined && isSignedWithAny({ ...failed, nowMs });
    },
  },
  {
    text: newReason("signature_headers", { id: standardHeaders.id, timestamp: standardHeaders.timestamp }),
    applies: (failed) =>
      isStandard(failed) &&
      [standardHeaders.id, standardHeaders.timestamp].some(
        (name) => firstHeader(failed.request.headers, [name]) === "",
      ),
  },
  {
    text: newReason("signature_clock"),
    applies: (failed) => {
      const sentAtMs = Number(firstHeader(failed.request.headers, [standardHeaders.timestamp])) * 1000;
      return isStandard(failed) && isSignedWithAny({ ...failed, nowMs: sentAtMs });
    },
  },
  {
    text: newReason("signature_base64"),
    applies: (failed) =>
      isStandard(failed) && failed.secrets.some((secret) => isSignedWith(failed, `whsec_${secret}`)),
  },
  {
    text: newReason("signature_sha1"),
    applies: (_failed, given) => given.startsWith("sha1="),
  },
];

function isStandard({ proof, request }: FailedSignature): boolean {
  return proof.acceptsStandard && firstHeader(request.headers, [standardHeaders.signature]) !== "";
}

function isSignedWithAny(failed: FailedSignature): boolean {
  return failed.secrets.some((secret) => isSignedWith(failed, secret));
}

function isSignedWith(failed: FailedSignature, secret: string): boolean {
  if (failed.request.body.byteLength > maxTriedBytes) return false;
  return isSignedBy(secret, failed.proof, failed.request, failed.nowMs);
}

/** Whether it is a digest of the bytes, in hex or base64, with or without a prefix. */
function matchesDigest(failed: FailedSignature, given: string, bytes: Uint8Array): boolean {
  if (bytes.byteLength > maxTriedBytes) return false;
  const { secrets, request } = failed;
  if (isStandard(failed)) return isSignedWithAny({ ...failed, request: { ...request, body: bytes } });
  const bare = withoutPrefix(given, /^[\w-]+=(?=.)/.exec(given)?.[0] ?? "");
  return secrets.some((secret) => {
    const digest = hmacOf(secret, bytes);
    return [given, bare].some((text) => isDigest(text, digest, "hex") || isDigest(text, digest, "base64"));
  });
}

function rewrittenJson(body: Uint8Array): Uint8Array | null {
  if (body.byteLength > maxTriedBytes) return null;
  const text = Buffer.from(body).toString("utf8");
  const value = parseJson(text);
  return value === undefined ? null : Buffer.from(JSON.stringify(value));
}
