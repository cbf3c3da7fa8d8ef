import { Fault, messageOf } from "../../errors.ts";
import { parseJson } from "../../json.ts";
import type { HostKind } from "../../model/host/host-token.ts";
import { ForbiddenAddress, type OutgoingAnswer, sendGuarded } from "../../task/notify/guarded-request.ts";
import { gitea } from "./gitea.ts";
import { gitee } from "./gitee.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { fieldOf, type HostApi, type HostRequest } from "./host-api.ts";

export const hostApis: Record<HostKind, HostApi> = { github, gitlab, gitea, gitee };

export interface HostAnswer {
  status: number;
  json: unknown;
}

/** Calls the API of one server with one token. */
export type HostCall = (request: HostRequest) => Promise<HostAnswer>;

export interface HostClientOptions {
  /** As for notifications: tasks.allowInternalNotifications. */
  allowInternal: boolean;
}

const timeoutMs = 20_000;
/** A hundred repositories of GitHub are about 600 KB. */
const maxAnswerBytes = 4 * 1024 * 1024;

export function hostCall(
  { allowInternal }: HostClientOptions,
  kind: HostKind,
  origin: string,
  token: string,
): HostCall {
  const api = hostApis[kind];
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
    let answer: OutgoingAnswer;
    try {
      answer = await sendGuarded(sent, { allowInternal, timeoutMs, maxAnswerBytes });
    } catch (error) {
      const code = error instanceof ForbiddenAddress ? "invalid" : "unavailable";
      // The message must not contain the address: Gitee expects the token in it.
      throw new Fault(code, `${origin} could not be called: ${messageOf(error).replaceAll(token, "…")}.`);
    }
    return { status: answer.status, json: parseJson(answer.body) };
  };
}

/** The JSON of a successful answer; otherwise a fault with the host's reason. */
export function succeeded(answer: HostAnswer, origin: string, what: string): unknown {
  if (answer.status >= 200 && answer.status < 300) return answer.json;
  throw new Fault("conflict", `${origin} did not ${what}: ${reasonOf(answer)}`);
}

export function reasonOf({ status, json }: HostAnswer): string {
  if (status === 401) return "the token is not valid (401).";
  if (status === 403) return "the token lacks the permission (403).";
  if (status === 404) return "it was not found, or the token may not see it (404).";
  const message = fieldOf(json, "message") ?? fieldOf(json, "error");
  const text = typeof message === "string" ? message : JSON.stringify(message ?? "");
  return `${text.replaceAll(/\p{Cc}+/gu, " ").slice(0, 300)} (${status}).`;
}

/** The id that the host gave to what was created. */
export function createdId(json: unknown, origin: string): string {
  const id = fieldOf(json, "id");
  if (typeof id === "number" || typeof id === "string") return encodeURIComponent(String(id));
  throw new Fault("conflict", `${origin} answered without an id; is it the right kind of Git host?`);
}
