import { Fault, messageOf } from "../../errors.ts";
import { parseJson } from "../../json.ts";
import type { HostKind } from "../../model/host/host-token.ts";
import { reasonText } from "../../reason/reason.ts";
import { ForbiddenAddress, type GuardedAnswer, sendGuarded } from "../../task/notify/guarded-request.ts";
import { gitea } from "./gitea.ts";
import { gitee } from "./gitee.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import type { HostApi, HostCall } from "./host-api.ts";

export const hostApis: Record<HostKind, HostApi> = { github, gitlab, gitea, gitee };

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

export function hostCall(
  { allowInternal, trusted }: HostClientOptions,
  kind: HostKind,
  origin: string,
  token: string,
): HostCall {
  const api = hostApis[kind];
  // The host may repeat the address or a header, and Gitee expects the token in the address.
  const redacted = (text: string) =>
    token.length < minRedactedLength
      ? text
      : text.replaceAll(token, "…").replaceAll(encodeURIComponent(token), "…");
  return async (request) => {
    const { method, path, query = {}, body, headers } = api.authorize(request, token);
    const url = new URL(`${api.baseOf(origin)}${path}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const sent = {
      ...(method === "POST" ? {} : { method }),
      url: url.href,
      headers: { ...headers, "user-agent": "Slipway", "content-type": "application/json" },
      body: body === undefined ? "" : JSON.stringify(body),
    };
    let answer: GuardedAnswer;
    try {
      answer = await sendGuarded(sent, { allowInternal, trusted, timeoutMs, maxAnswerBytes });
    } catch (error) {
      const code = error instanceof ForbiddenAddress ? "invalid" : "unavailable";
      const why = redacted(messageOf(error));
      throw new Fault(code, reasonText("host_not_called", { origin, why }), {
        isShown: true,
        fields: [{ field: "url", message: reasonText("not_called", { why }) }],
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
}
