import { githubEvents } from "./delivery/event-names.ts";
import type { GitHost } from "./git-host.ts";
import { giteaPages } from "./pages.ts";
import { hmacProof } from "./proof/proof.ts";

export const gogs = {
  title: "Gogs",
  serverWords: ["gogs"],
  eventHeaders: ["X-Gogs-Event"],
  events: githubEvents,
  deliveryIdHeaders: ["X-Gogs-Delivery"],
  proof: hmacProof(["X-Gogs-Signature"], { signsFormPayload: true }),
  pages: giteaPages,
} satisfies GitHost;
