import { Fault } from "../errors.ts";
import type { HostAnswer } from "../git-host/api/host-api.ts";
import { at, textAt } from "../git-host/delivery/json-reader.ts";
import { newReason, type Reason, type Sentence } from "../reason/reason.ts";

/** Longer waits are not believed. */
const maxWaitSeconds = 24 * 3600;
const maxReasonLength = 300;
const maxIdLength = 64;

/** The JSON of a successful answer; otherwise a fault with the host's reason. */
export function succeeded(answer: HostAnswer, origin: string, act: Sentence): unknown {
  if (answer.status >= 200 && answer.status < 300) return answer.json;
  const retryAfterSeconds = rateLimitSeconds(answer);
  const isTemporary = retryAfterSeconds !== null || answer.status >= 500;
  throw new Fault(
    isTemporary ? "unavailable" : "conflict",
    newReason("host_failed", { origin, act, why: reasonOf(answer) }),
    {
      isShown: true,
      ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
      ...(answer.status === 401 ? { fields: [{ field: "token", message: reasonOf(answer) }] } : {}),
    },
  );
}

/**
 * Seconds until the host takes requests again; null: the answer is not about a rate limit. GitHub also answers 403, with
 * Retry-After or with x-ratelimit-remaining 0 (https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
 */
export function rateLimitSeconds(answer: HostAnswer): number | null {
  const after = answer.header("retry-after");
  const isUsedUp = [answer.header("x-ratelimit-remaining"), answer.header("ratelimit-remaining")].includes(
    "0",
  );
  const isLimit = answer.status === 429 || (answer.status === 403 && (after !== "" || isUsedUp));
  if (!isLimit) return null;
  const resetAt = Number(answer.header("x-ratelimit-reset") || answer.header("ratelimit-reset"));
  const untilReset = resetAt > 0 ? resetAt - Date.now() / 1000 : 60;
  const seconds = after === "" ? untilReset : secondsOf(after);
  return Math.min(Math.max(Math.ceil(seconds), 1), maxWaitSeconds);
}

/** Retry-After is a number of seconds or a date. */
function secondsOf(retryAfter: string): number {
  const seconds = Number(retryAfter);
  if (Number.isFinite(seconds)) return seconds;
  const at = Date.parse(retryAfter);
  return Number.isNaN(at) ? 60 : (at - Date.now()) / 1000;
}

export function reasonOf(answer: HostAnswer): Reason {
  const { status, json } = answer;
  const seconds = rateLimitSeconds(answer);
  if (seconds !== null) {
    const until = new Date(Date.now() + seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
    return newReason("host_rate_limit", { until, status });
  }
  if (status === 401) return newReason("host_token_invalid");
  const message = at(json, "message") ?? at(json, "error_description") ?? at(json, "error");
  const text = oneLine(typeof message === "string" ? message : JSON.stringify(message ?? ""));
  if (status === 403) {
    const needs = needed(answer);
    return needs === ""
      ? newReason("host_token_denied", { said: text })
      : newReason("host_token_denied_scope", { scope: needs });
  }
  if (status === 404) return newReason(isOfRepository(answer) ? "repository_not_found" : "host_token_blind");
  if (status >= 300 && status < 400) return redirectReason(answer);
  if (status >= 500) return newReason("host_problem", { status });
  return `${text} (${status}).`;
}

/** The permission that the host names: headers of GitHub, the field `scope` of GitLab. */
function needed({ json, header }: HostAnswer): string {
  const named =
    header("x-accepted-github-permissions") || header("x-accepted-oauth-scopes") || textAt(json, "scope");
  return oneLine(named);
}

function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, " ").slice(0, maxReasonLength);
}

/** Whether the call was about webhooks or keys of a repository. */
function isOfRepository({ address }: HostAnswer): boolean {
  return /\/(hooks|keys|deploy_keys)(\/|$)/.test(new URL(address).pathname);
}

/** Hosts redirect the old name of a repository: Gitea to the new name, GitHub to the number of the repository. */
function redirectReason(answer: HostAnswer): Reason {
  const { status, address } = answer;
  const location = answer.header("location");
  if (location === "" || !URL.canParse(location, address))
    return newReason("host_redirects", { to: "another address", status });
  const target = new URL(location, address);
  if (target.origin !== new URL(address).origin || !isOfRepository(answer))
    return newReason("host_redirects", { to: target.origin, status });
  const path = /\/repos\/([\w.-]+\/[\w.-]+)\//.exec(target.pathname)?.[1];
  return path === undefined
    ? newReason("repository_renamed", { status })
    : newReason("repository_renamed_to", { path, status });
}

/** Whether the list goes on. Addresses in the answer are not followed: they could name another server. */
export function hasNextPage({ header }: HostAnswer, page: number): boolean {
  return (
    /;\s*rel="?next"?/.test(header("link")) ||
    header("x-next-page") !== "" ||
    Number(header("total_page")) > page
  );
}

/** The id that the host gave to what was created. */
export function createdId(json: unknown, origin: string): string {
  const id = idOf(json);
  if (id !== null) return id;
  throw new Fault("conflict", newReason("host_no_id", { origin }));
}

/** Null: the answer has no id. */
export function idOf(json: unknown): string | null {
  const id = at(json, "id");
  if (typeof id !== "number" && typeof id !== "string") return null;
  const text = String(id);
  return text.length <= maxIdLength && /^[\w-]+$/.test(text) ? text : null;
}
