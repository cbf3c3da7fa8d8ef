import { githubEvents } from "./delivery/event-names.ts";
import type { GitHost } from "./git-host.ts";
import { hmacProof } from "./proof/proof.ts";

export const github = {
  title: "GitHub",
  eventHeaders: ["X-GitHub-Event"],
  events: githubEvents,
  deliveryIdHeaders: ["X-GitHub-Delivery"],
  proof: hmacProof(["X-Hub-Signature-256"], { prefix: "sha256=" }),
} satisfies GitHost;
