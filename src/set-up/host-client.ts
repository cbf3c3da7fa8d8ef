import { Fault, thrownReason } from "../errors.ts";
import type { HostApi, HostCall } from "../git-host/api/host-api.ts";
import type { TokenPlace } from "../git-host/git-host.ts";
import { gitHosts, type HostKind } from "../git-host/hosts.ts";
import { parseJson } from "../json.ts";
import { mapTexts, newReason } from "../reason/reason.ts";
import { ForbiddenAddress, type GuardedAnswer, sendGuarded } from "../task/notify/guarded-request.ts";

/** A server, and the right to call it. */
export interface HostAccess {
  kind: HostKind;
  origin: string;
  api: HostApi;
  call: HostCall;
}

export interface HostClientOptions {
  /** As for notifications: tasks.allowInternalNotifications. */
  allowInternal: boolean;
  /** Origins that may be called although their address is internal: hosts.trusted. */
  trusted: readonly string[];
}

const timeoutMs = 20_000;
/** Real tokens are longer. Replacing a shorter text would damage answers. */
const minRedactedLength = 8;
/** A hundred repositories of GitHub are about 600 KB. */
const maxAnswerBytes = 4 * 1024 * 1024;

export function hostAccess(
  { allowInternal, trusted }: HostClientOptions,
  kind: HostKind,
  origin: string,
  token: string,
): HostAccess {
  const api: HostApi = gitHosts[kind].api;
  const place: TokenPlace = gitHosts[kind].token;
  // The host may repeat the address or a header, and Gitee expects the token in the address.
  const redacted = (text: string) =>
    token.length < minRedactedLength
      ? text
      : text.replaceAll(token, "…").replaceAll(encodeURIComponent(token), "…");
  const call: HostCall = async ({ method, path, query = {}, body }) => {
    const parameter = place.parameter === undefined ? {} : { [place.parameter]: token };
    const url = new URL(`${api.baseOf(origin)}${path}`);
    for (const [name, value] of Object.entries({ ...query, ...(body === undefined ? parameter : {}) }))
      url.searchParams.set(name, value);
    const sent = {
      ...(method === "POST" ? {} : { method }),
      url: url.href,
      headers: {
        ...api.headers,
        ...place.headersOf(token),
        "user-agent": "Slipway",
        "content-type": "application/json",
      },
      body: body === undefined ? "" : JSON.stringify({ ...body, ...parameter }),
    };
    let answer: GuardedAnswer;
    try {
      answer = await sendGuarded(sent, { allowInternal, trusted, timeoutMs, maxAnswerBytes });
    } catch (error) {
      const code = error instanceof ForbiddenAddress ? "invalid" : "unavailable";
      const why = mapTexts(thrownReason(error), redacted);
      throw new Fault(code, newReason("host_not_called", { origin, why }), {
        isShown: true,
        fields: [{ field: "url", message: newReason("not_called", { why }) }],
      });
    }
    const { status, headers: received } = answer;
    return {
      status,
      address: `${url.origin}${url.pathname}`,
      json: parseJson(redacted(answer.body)),
      header: (name) => redacted([received[name] ?? ""].flat().join(", ")),
    };
  };
  return { kind, origin, api, call };
}
