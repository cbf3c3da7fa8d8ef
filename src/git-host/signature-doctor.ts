import { parseJson } from "../json.ts";
import { reasonText } from "../reason/reason.ts";
import { isSameSecret } from "../secrets.ts";
import { standardHeaders } from "../standard-webhooks.ts";
import { firstHeader } from "./delivery/headers.ts";
import { type GitHost, gitHosts } from "./hosts.ts";
import {
  type ConfiguredPlace,
  hmacOf,
  isDigest,
  isSignedBy,
  proofHeadersOf,
  proofOf,
  type SignatureScheme,
  type SignedRequest,
  withoutPrefix,
} from "./proof/signature.ts";

/** Variants of larger bodies are not tried, to limit the work that an unauthenticated request causes. */
const maxTriedBytes = 256 * 1024;

export interface FailedSignature {
  /** Secrets that are accepted now. */
  secrets: readonly string[];
  /** Secrets that have expired. */
  endedSecrets: readonly string[];
  scheme: SignatureScheme;
  place: ConfiguredPlace;
  request: SignedRequest;
  nowMs: number;
}

/**
 * The probable cause of a failed signature, for the record only. The response does not contain it, because it would help
 * an attacker.
 */
export function diagnose(failed: FailedSignature): string {
  const proof = proofOf(failed.scheme, failed.place, failed.request);
  const empty = emptyHeaderOf(failed, proof);
  if (empty !== null) return reasonText("signature_empty_header", { header: empty });
  if (proof === "") return missingProof(failed);
  return causes.find(({ applies }) => applies(failed, proof))?.text ?? reasonText("signature_differs");
}

/** Some hosts send only the prefix if they have no secret; a project may configure another prefix. */
const emptySignature = /^(sha(1|256|512)=|v1,)$/;

/** The header that is present but empty; null if there is none. A token, unlike a signature, may look like a prefix. */
function emptyHeaderOf(failed: FailedSignature, proof: string): string | null {
  const { place, request } = failed;
  const isEmpty =
    proof === "" ||
    ((isHmac(failed) || isStandard(failed)) &&
      (emptySignature.test(proof) || proof === place.signaturePrefix.trim()));
  const isSent = (name: string) => request.headers.get(name)?.trim() === proof;
  return isEmpty ? (headersOf(failed).find(isSent) ?? null) : null;
}

function headersOf({ scheme, place }: FailedSignature): readonly string[] {
  if (scheme.type !== "configured") return proofHeadersOf(scheme);
  return [place.verifyMode === "standard" ? standardHeaders.signature : place.secretHeader];
}

function missingProof({ scheme, place, request }: FailedSignature): string {
  const expected = expectedProof(scheme, place);
  if (scheme.type === "configured" && firstHeader(request.headers, [standardHeaders.signature]) !== "")
    return `${expected}, but there is a ${standardHeaders.signature}: set verifyMode to standard`;
  // GitHub sends a SHA-1 signature in addition to the SHA-256 one.
  const isOldAlone = firstHeader(request.headers, ["X-Hub-Signature-256", "X-Hub-Signature"]).startsWith(
    "sha1=",
  );
  if (isOldAlone) return `${expected}; there is only a SHA-1 signature, which is not accepted`;
  const others: GitHost[] = Object.values(gitHosts).filter(
    ({ signature }) =>
      signature.type !== "configured" && firstHeader(request.headers, proofHeadersOf(signature)) !== "",
  );
  // Several hosts share a header, and Gitea also sends the headers of Gogs and GitHub: the last match in the table is the sender.
  const other =
    others.findLast(({ eventHeaders }) => firstHeader(request.headers, eventHeaders) !== "") ?? others[0];
  return other ? `${expected}, but there is one of ${other.title}: check the provider` : expected;
}

function expectedProof(scheme: SignatureScheme, place: ConfiguredPlace): string {
  if (scheme.type !== "configured")
    return reasonText("signature_missing", { header: proofHeadersOf(scheme).join(" or ") });
  return place.verifyMode === "standard"
    ? reasonText("signature_missing_plain", { header: standardHeaders.signature })
    : reasonText("signature_missing_both", { header: place.secretHeader, parameter: place.secretQuery });
}

interface Cause {
  text: string;
  applies(failed: FailedSignature, proof: string): boolean;
}

const causes: Cause[] = [
  {
    text: reasonText("signature_ended"),
    applies: (failed) => failed.endedSecrets.some((secret) => isSignedWith(failed, secret)),
  },
  {
    text: reasonText("signature_empty_secret"),
    applies: (failed) => isHmac(failed) && isSignedWith(failed, ""),
  },
  {
    text: reasonText("signature_space"),
    applies: (failed) =>
      failed.secrets.some((secret) =>
        [secret.trim(), `${secret}\n`, `${secret.trim()}\n`, `${secret}\r\n`].some(
          (variant) => variant !== secret && isSignedWith(failed, variant),
        ),
      ),
  },
  {
    text: reasonText("signature_secret_sent"),
    applies: (failed, proof) =>
      isHmac(failed) && failed.secrets.some((secret) => isSameSecret(proof, secret)),
  },
  {
    text: reasonText("signature_hmac_sent"),
    applies: (failed, proof) => !isHmac(failed) && matchesDigest(failed, proof, failed.request.body),
  },
  {
    text: reasonText("signature_encoding"),
    applies: (failed, proof) => isHmac(failed) && matchesDigest(failed, proof, failed.request.body),
  },
  {
    text: reasonText("signature_form"),
    applies: (failed, proof) => {
      const form = failed.request.formPayload();
      return form !== null && matchesDigest(failed, proof, form);
    },
  },
  {
    text: reasonText("signature_newline"),
    applies: (failed, proof) => {
      const trimmed = Buffer.from(failed.request.body).toString("latin1").trimEnd();
      return matchesDigest(failed, proof, Buffer.from(trimmed, "latin1"));
    },
  },
  {
    text: reasonText("signature_rewritten"),
    applies: (failed, proof) => {
      const rewritten = rewrittenJson(failed.request.body);
      return rewritten !== null && matchesDigest(failed, proof, rewritten);
    },
  },
  {
    text: reasonText("signature_clock_hour"),
    applies: (failed) => {
      if (failed.scheme.type !== "gitee") return false;
      const sentAtMs = Number(firstHeader(failed.request.headers, [failed.scheme.timestampHeader]));
      return isSignedWithAny({ ...failed, nowMs: sentAtMs });
    },
  },
  {
    text: reasonText("signature_headers", { id: standardHeaders.id, timestamp: standardHeaders.timestamp }),
    applies: (failed) =>
      isStandard(failed) &&
      [standardHeaders.id, standardHeaders.timestamp].some(
        (name) => firstHeader(failed.request.headers, [name]) === "",
      ),
  },
  {
    text: reasonText("signature_clock"),
    applies: (failed) => {
      const sentAtMs = Number(firstHeader(failed.request.headers, [standardHeaders.timestamp])) * 1000;
      return isStandard(failed) && isSignedWithAny({ ...failed, nowMs: sentAtMs });
    },
  },
  {
    text: reasonText("signature_base64"),
    applies: (failed) =>
      isStandard(failed) && failed.secrets.some((secret) => isSignedWith(failed, `whsec_${secret}`)),
  },
  {
    text: reasonText("signature_sha1"),
    applies: (_failed, proof) => proof.startsWith("sha1="),
  },
];

function isHmac({ scheme, place }: FailedSignature): boolean {
  return scheme.type === "hmac" || (scheme.type === "configured" && place.verifyMode === "hmac");
}

function isStandard({ scheme, place, request }: FailedSignature): boolean {
  const isAccepted =
    scheme.type === "configured"
      ? place.verifyMode === "standard"
      : scheme.type === "token" && scheme.orStandard === true;
  return isAccepted && firstHeader(request.headers, [standardHeaders.signature]) !== "";
}

function isSignedWithAny(failed: FailedSignature): boolean {
  return failed.secrets.some((secret) => isSignedWith(failed, secret));
}

function isSignedWith(failed: FailedSignature, secret: string): boolean {
  if (failed.request.body.byteLength > maxTriedBytes) return false;
  return isSignedBy(secret, failed.scheme, failed.place, failed.request, failed.nowMs);
}

/** Whether the proof is a digest of the bytes, in hex or base64, with or without a prefix. */
function matchesDigest(failed: FailedSignature, proof: string, bytes: Uint8Array): boolean {
  if (bytes.byteLength > maxTriedBytes) return false;
  const { secrets, request } = failed;
  if (isStandard(failed)) return isSignedWithAny({ ...failed, request: { ...request, body: bytes } });
  const bare = withoutPrefix(proof, /^[\w-]+=(?=.)/.exec(proof)?.[0] ?? "");
  return secrets.some((secret) => {
    const digest = hmacOf(secret, bytes);
    return [proof, bare].some((text) => isDigest(text, digest, "hex") || isDigest(text, digest, "base64"));
  });
}

function rewrittenJson(body: Uint8Array): Uint8Array | null {
  if (body.byteLength > maxTriedBytes) return null;
  const text = Buffer.from(body).toString("utf8");
  const value = parseJson(text);
  return value === undefined ? null : Buffer.from(JSON.stringify(value));
}
