import type { HostApi } from "../git-host/api/host-api.ts";
import { gitHosts, type HostKind, hostKinds } from "../git-host/hosts.ts";
import { parseJson } from "../json.ts";
import { gitAddressOf } from "../model/git/git-url.ts";
import { sendGuarded } from "../task/notify/guarded-request.ts";
import type { HostClientOptions } from "./host-client.ts";

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
    hostKinds.map(async (kind) => {
      const { probe }: HostApi = gitHosts[kind].api;
      if (probe === undefined) return null;
      try {
        const request = { method: "GET" as const, url: `${origin}${probe.path}`, headers, body: "" };
        const { status, body } = await sendGuarded(request, { allowInternal, trusted, timeoutMs });
        return probe.isAnsweredBy({ status, json: parseJson(body) }) ? kind : null;
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
