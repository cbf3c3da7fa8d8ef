import { isSameSecret } from "../secrets.ts";
import { standardHeaders } from "../standard-webhooks.ts";
import { gitlabEvents } from "./delivery/event-names.ts";
import type { GitHost } from "./git-host.ts";
import { type Proof, standardProof, tokenProof } from "./proof/proof.ts";

/** A signing token makes a signature of Standard Webhooks; a secret token is sent itself. */
const eitherProof: Proof = {
  ...tokenProof("X-Gitlab-Token", ...standardProof.headers),
  acceptsStandard: true,
  isSignedBy: (secret, given, request, nowMs) =>
    isSameSecret(given, secret) || standardProof.isSignedBy(secret, given, request, nowMs),
};

export const gitlab = {
  title: "GitLab",
  eventHeaders: ["X-Gitlab-Event"],
  events: gitlabEvents,
  deliveryIdHeaders: ["Idempotency-Key", standardHeaders.id, "X-Gitlab-Webhook-UUID", "X-Gitlab-Event-UUID"],
  proof: eitherProof,
} satisfies GitHost;
