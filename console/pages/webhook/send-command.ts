import type { Webhook } from "../../shapes.ts";

export type Proof = Pick<
  Webhook,
  "secretHeader" | "verifyMode" | "signaturePrefix" | "signatureEncoding" | "secretSet"
>;

const body = `body='{"event":"push","ref":"refs/heads/main","message":"a test"}'`;
const hash = 'openssl dgst -sha256 -hmac "$SECRET"';

/** How a shell proves `$body` with `$SECRET`: lines that come first, and headers. */
export function proofLines(proof: Proof): { before: string[]; headers: string[] } {
  if (!proof.secretSet) return { before: [], headers: [] };
  if (proof.verifyMode === "token") return { before: [], headers: [`"${proof.secretHeader}: $SECRET"`] };
  if (proof.verifyMode === "hmac") {
    const encoded =
      proof.signatureEncoding === "hex" ? `${hash} | sed 's/^.* //'` : `${hash} -binary | base64`;
    return {
      before: [`signature=$(printf %s "$body" | ${encoded})`],
      headers: [`"${proof.secretHeader}: ${proof.signaturePrefix}$signature"`],
    };
  }
  return {
    before: [
      'id="push-$(date +%s%N)" timestamp=$(date +%s)',
      `signature=$(printf %s "$id.$timestamp.$body" | ${hash} -binary | base64)`,
    ],
    headers: ['"webhook-id: $id"', '"webhook-timestamp: $timestamp"', '"webhook-signature: v1,$signature"'],
  };
}

/** The line that a shell reads the secret from; none, if there is no secret. */
export function secretLines({ secretSet }: Proof, secret: string | null): string[] {
  return secretSet ? [`SECRET='${secret ?? "…"}'`] : [];
}

/** What a shell sends as a push of the provider `generic`. Without a secret, it is for the reader to fill in. */
export function sendCommand(url: string, proof: Proof, secret: string | null): string {
  const { before, headers } = proofLines(proof);
  const sent = [
    `curl -X POST '${url}'`,
    ...["'Content-Type: application/json'", ...headers].map((header) => `-H ${header}`),
    '--data-binary "$body"',
  ].join(" \\\n  ");
  return [...secretLines(proof, secret), body, ...before, sent].join("\n");
}
