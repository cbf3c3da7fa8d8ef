import { githubEvents } from "./delivery/event-names.ts";
import type { GitHost } from "./git-host.ts";
import { githubPages } from "./pages.ts";
import { hmacProof } from "./proof/proof.ts";
import { githubStatuses } from "./status/status-api.ts";

const baseOf = (origin: string) =>
  origin === "https://github.com" ? "https://api.github.com" : `${origin}/api/v3`;

export const github = {
  title: "GitHub",
  servers: ["github.com"],
  serverWords: ["github"],
  eventHeaders: ["X-GitHub-Event"],
  events: githubEvents,
  deliveryIdHeaders: ["X-GitHub-Delivery"],
  proof: hmacProof(["X-Hub-Signature-256"], { prefix: "sha256=" }),
  pages: githubPages,
  token: { headersOf: (token) => ({ authorization: `Bearer ${token}` }) },
  statuses: [{ proof: "bearer", ...githubStatuses(baseOf, "per_page=100") }],
} satisfies GitHost;
