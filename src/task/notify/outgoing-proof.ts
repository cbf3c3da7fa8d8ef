import type { Clock } from "../../clock.ts";
import type { OutgoingCall } from "../../model/outgoing-call.ts";
import { reservedSecrets, sealedPurpose } from "../../model/sealed.ts";
import type { Keepers } from "../../model/store.ts";
import type { Secrets } from "../../secrets.ts";
import { standardDigest, standardHeaders } from "../../standard-webhooks.ts";
import { isStatusAddressOf } from "./commit-status.ts";

export interface OutgoingProofParts {
  projects: Pick<Keepers["projects"], "secrets" | "byId">;
  secrets: Secrets;
  clock: Clock;
}

type Proven = Pick<OutgoingCall, "projectId" | "url" | "messageId" | "proof" | "body">;

/** The call must not carry the token, now or later. */
export class TokenWithheld extends Error {
  override readonly name = "TokenWithheld";
}

/**
 * Answers the headers of one try. Signature and token are made for each: receivers refuse an old time, a key may have
 * been replaced since, and what waits in the database then holds no secret.
 */
export function buildOutgoingProof(parts: OutgoingProofParts) {
  async function secretOf(projectId: number, name: string): Promise<string | null> {
    const stored = await parts.projects.secrets(projectId);
    const found = stored.find((secret) => secret.name === name);
    return found ? parts.secrets.open(sealedPurpose.projectSecret(projectId, name), found.ciphertext) : null;
  }

  /** While the call waited, the repository may have moved to another server with its own token. */
  async function tokenFor({ projectId, url }: Proven): Promise<string> {
    const token = await secretOf(projectId, reservedSecrets.status);
    if (token === null) throw new TokenWithheld("the project has no status token");
    const project = await parts.projects.byId(projectId);
    if (project === null || !isStatusAddressOf(project, url))
      throw new TokenWithheld("the project's repository is now on another server");
    return token;
  }

  return async (call: Proven): Promise<Record<string, string>> => {
    const common = { "content-type": "application/json", "user-agent": "Slipway" };
    if (call.proof === "signature") {
      const key = await secretOf(call.projectId, reservedSecrets.notify);
      const timestamp = Math.floor(parts.clock.now() / 1000);
      return { ...common, ...webhookHeaders(call.messageId, timestamp, call.body, key) };
    }
    const token = await tokenFor(call);
    if (call.proof === "private-token") return { ...common, "private-token": token };
    return { ...common, authorization: `${call.proof === "bearer" ? "Bearer" : "token"} ${token}` };
  };
}

/** Headers of Standard Webhooks; without a key of the project there is no signature. */
export function webhookHeaders(
  id: string,
  timestamp: number,
  body: string,
  signingKey: string | null,
): Record<string, string> {
  const headers = { [standardHeaders.id]: id, [standardHeaders.timestamp]: String(timestamp) };
  if (signingKey === null) return headers;
  const signature = standardDigest(signingKey, id, String(timestamp), body).toString("base64");
  return { ...headers, [standardHeaders.signature]: `v1,${signature}` };
}
