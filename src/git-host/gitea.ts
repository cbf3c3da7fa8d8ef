import { githubEvents } from "./delivery/event-names.ts";
import type { GitHost } from "./git-host.ts";
import { hmacProof } from "./proof/proof.ts";

export const gitea = {
  title: "Gitea, Forgejo",
  eventHeaders: ["X-Gitea-Event", "X-Forgejo-Event", "X-Gogs-Event"],
  events: { ...githubEvents, pull_request_sync: "merge_request" },
  deliveryIdHeaders: ["X-Gitea-Delivery", "X-Forgejo-Delivery"],
  proof: hmacProof(["X-Gitea-Signature", "X-Forgejo-Signature", "X-Hub-Signature-256"], {
    ...{ prefix: "sha256=", signsFormPayload: true },
  }),
} satisfies GitHost;
