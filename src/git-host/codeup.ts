import { gitlabEvents } from "./delivery/event-names.ts";
import type { GitHost } from "./git-host.ts";
import { githubPages } from "./pages.ts";
import { tokenProof } from "./proof/proof.ts";
import { githubWords, isAmong, shortened } from "./status/status-api.ts";

/** The public service has one API server for all organisations; a dedicated edition has the API on its own server. */
function apiOf(origin: string, path: string): string {
  if (origin !== "https://codeup.aliyun.com") return `${origin}/oapi/v1/codeup`;
  const organization = encodeURIComponent(path.split("/")[0] ?? "");
  return `https://openapi-rdc.aliyuncs.com/oapi/v1/codeup/organizations/${organization}`;
}

export const codeup = {
  title: "Codeup",
  servers: ["codeup.aliyun.com"],
  eventHeaders: ["Codeup-Event", "X-Codeup-Event"],
  events: gitlabEvents,
  deliveryIdHeaders: [],
  proof: tokenProof("X-Codeup-Token"),
  pages: { ...githubPages, mergeRequest: "change/{number}", compare: null },
  token: { headersOf: (token) => ({ "x-yunxiao-token": token }) },
  statuses: [
    {
      proof: "yunxiao-token",
      urlOf: ({ origin, path }, commit) =>
        `${apiOf(origin, path)}/repositories/${encodeURIComponent(path)}/commits/${commit}/statuses`,
      bodyOf: ({ state, description, targetUrl, context }) => ({
        ...{ state: githubWords[state], description, targetUrl, context: shortened(context, 50) },
      }),
      lookUpUrl: (url) => `${url}?perPage=100`,
      // A full page may not be the last one.
      isListed: (answer, { context }) =>
        isAmong(
          answer,
          answer.json,
          { context },
          Array.isArray(answer.json) && answer.json.length >= 100 ? 101 : 0,
        ),
    },
  ],
} satisfies GitHost;
