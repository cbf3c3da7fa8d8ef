import { parseJson } from "../../json.ts";
import { gitAddressOf } from "../../model/git/git-url.ts";
import type { HostKind } from "../../model/host/host-token.ts";
import { sendGuarded } from "../../task/notify/guarded-request.ts";
import { fieldOf, type HostAnswer, textOf } from "./host-api.ts";
import type { HostClientOptions } from "./host-client.ts";

interface Probe {
  kind: HostKind;
  path: string;
  isAnsweredBy(answer: Pick<HostAnswer, "status" | "json">): boolean;
}

/** Addresses of the public API references that answer without a token. */
const probes: readonly Probe[] = [
  {
    kind: "gitea",
    path: "/api/v1/version",
    isAnsweredBy: ({ status, json }) => status === 200 && textOf(json, "version") !== "",
  },
  {
    // Without a token GitLab answers in its own words.
    kind: "gitlab",
    path: "/api/v4/version",
    isAnsweredBy: ({ status, json }) => status === 401 && textOf(json, "message") === "401 Unauthorized",
  },
  {
    kind: "github",
    path: "/api/v3/",
    isAnsweredBy: ({ status, json }) => status === 200 && fieldOf(json, "current_user_url") !== undefined,
  },
];

/** The user waits for it, and a wrong guess costs one click. */
const timeoutMs = 3_000;

/** The kind of Git host at a clone URL whose name does not tell it; null: unknown, or the server may not call it. */
export async function detectHost(
  url: string,
  { allowInternal, trusted }: HostClientOptions,
): Promise<HostKind | null> {
  const origin = webOriginOf(url);
  if (origin === null) return null;
  const headers = { accept: "application/json", "user-agent": "Slipway" };
  const answers = await Promise.all(
    probes.map(async ({ kind, path, isAnsweredBy }) => {
      try {
        const request = { method: "GET" as const, url: `${origin}${path}`, headers, body: "" };
        const { status, body } = await sendGuarded(request, { allowInternal, trusted, timeoutMs });
        return isAnsweredBy({ status, json: parseJson(body) }) ? kind : null;
      } catch {
        return null;
      }
    }),
  );
  return answers.find((kind) => kind !== null) ?? null;
}

/** The pages of a host that is cloned over ssh are at https, as far as its address tells. */
function webOriginOf(url: string): string | null {
  if (/^https?:/i.test(url)) return URL.canParse(url) ? new URL(url).origin : null;
  const host = gitAddressOf(url)?.host;
  return host === undefined || host === "" ? null : `https://${host}`;
}
