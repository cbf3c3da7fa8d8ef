import type { Webhook } from "../../shapes.ts";

type Proof = Pick<
  Webhook,
  "secretHeader" | "verifyMode" | "signaturePrefix" | "signatureEncoding" | "secretSet"
>;

const body = `body='{"event":"push","ref":"refs/heads/main","message":"a test"}'`;
const hash = 'openssl dgst -sha256 -hmac "$SECRET"';

/** What a shell sends as a push of the provider `generic`; the secret is for the reader to fill in. */
export function sendCommand(url: string, proof: Proof): string {
  const send = (proofs: string[]) =>
    [
      `curl -X POST '${url}'`,
      ...["'Content-Type: application/json'", ...proofs].map((header) => `-H ${header}`),
      '--data-binary "$body"',
    ].join(" \\\n  ");
  if (!proof.secretSet) return [body, send([])].join("\n");
  const first = ["SECRET='…'", body];
  if (proof.verifyMode === "token") return [...first, send([`"${proof.secretHeader}: $SECRET"`])].join("\n");
  if (proof.verifyMode === "hmac") {
    const encoded =
      proof.signatureEncoding === "hex" ? `${hash} | sed 's/^.* //'` : `${hash} -binary | base64`;
    const signature = `signature=$(printf %s "$body" | ${encoded})`;
    return [...first, signature, send([`"${proof.secretHeader}: ${proof.signaturePrefix}$signature"`])].join(
      "\n",
    );
  }
  return [
    ...first,
    'id="push-$(date +%s%N)" timestamp=$(date +%s)',
    `signature=$(printf %s "$id.$timestamp.$body" | ${hash} -binary | base64)`,
    send(['"webhook-id: $id"', '"webhook-timestamp: $timestamp"', '"webhook-signature: v1,$signature"']),
  ].join("\n");
}
