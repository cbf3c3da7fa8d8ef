import { githubEvents } from "./delivery/event-names.ts";
import type { GitHost } from "./git-host.ts";
import { giteaPages } from "./pages.ts";
import { hmacProof } from "./proof/proof.ts";
import { githubStatuses } from "./status/status-api.ts";

export const gitea = {
  title: "Gitea, Forgejo",
  servers: ["codeberg.org", "gitea.com"],
  serverWords: ["gitea", "forgejo"],
  eventHeaders: ["X-Gitea-Event", "X-Forgejo-Event", "X-Gogs-Event"],
  events: { ...githubEvents, pull_request_sync: "merge_request" },
  deliveryIdHeaders: ["X-Gitea-Delivery", "X-Forgejo-Delivery"],
  proof: hmacProof(["X-Gitea-Signature", "X-Forgejo-Signature", "X-Hub-Signature-256"], {
    ...{ prefix: "sha256=", signsFormPayload: true },
  }),
  pages: giteaPages,
  token: { headersOf: (token) => ({ authorization: `token ${token}` }) },
  statuses: [{ proof: "token", ...githubStatuses((origin) => `${origin}/api/v1`, "limit=50") }],
} satisfies GitHost;
