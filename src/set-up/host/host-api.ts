import type { HookState } from "../../model/host/host-hook.ts";
import type { HostKind } from "../../model/host/host-token.ts";
import { reasonText } from "../../reason/reason.ts";

/** A call of a host's API, relative to its base. */
export interface HostRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Record<string, string>;
  body?: Record<string, unknown>;
}

export interface HostAnswer {
  status: number;
  /** The address that was called, without its query, which may contain the token. */
  address: string;
  /** Undefined: the answer is not JSON. */
  json: unknown;
  /** A header of the answer; empty: it has none of this name. */
  header(name: string): string;
}

/** Calls the API of one server with one token. */
export type HostCall = (request: HostRequest) => Promise<HostAnswer>;

/** A server, and the right to call it. */
export interface HostAccess {
  kind: HostKind;
  origin: string;
  call: HostCall;
}

/** Whose token it is and what it may do, as far as the host says so. */
export interface TokenFacts {
  login: string;
  /** Null: the host does not list them. */
  scopes: string[] | null;
  /** Scopes that webhooks and deploy keys need and that the token lacks. */
  missing: string[];
  /** Null: never, or the host does not say. */
  expiresAt: Date | null;
}

export interface RepositoryQuery {
  /** Empty: all repositories. */
  search: string;
  /** From 1. */
  page: number;
  /** The user of the token at the host. */
  userId: string;
}

export interface HostRepository {
  /** `group/shop`. */
  path: string;
  httpsUrl: string;
  sshUrl: string;
  isPrivate: boolean;
}

/** A webhook as it must be at the host. */
export interface WantedHook {
  url: string;
  secret: string;
}

export interface FoundHook {
  state: Exclude<HookState, "missing" | "unknown">;
  note: string;
}

/** How the API of a kind of Git host is called, after its published reference. */
export interface HostApi {
  kind: HostKind;
  /** Base of the API of a server. */
  baseOf(origin: string): string;
  /** The request with the token where the host expects it. */
  authorize(request: HostRequest, token: string): HostRequest & { headers: Record<string, string> };
  /** `answer` is the host's answer about the user of the token. */
  tokenFacts(call: HostCall, answer: HostAnswer): Promise<TokenFacts>;
  /** Length from which a search finds parts of names at the host; null: the host cannot search this list. */
  minSearchLength: number | null;
  listRepositories(query: RepositoryQuery): HostRequest;
  /** Null: the answer is not a list. */
  repositoriesIn(json: unknown): unknown[] | null;
  /** Null: the user may not change the settings of the repository. */
  readRepository(json: unknown): HostRepository | null;
  listHooks(path: string, page: number): HostRequest;
  hookUrl(json: unknown): string;
  createHook(path: string, wanted: WantedHook): HostRequest;
  updateHook(path: string, id: string, wanted: WantedHook): HostRequest;
  readHook(path: string, id: string): HostRequest;
  deleteHook(path: string, id: string): HostRequest;
  compareHook(json: unknown, url: string): FoundHook;
  createKey(path: string, title: string, publicKey: string): HostRequest;
  readKey(path: string, id: string): HostRequest;
  deleteKey(path: string, id: string): HostRequest;
  /** Whether the key may only read; hosts that have no other deploy keys do not say so. */
  isReadOnlyKey(json: unknown): boolean;
}

export function fieldOf(value: unknown, ...names: string[]): unknown {
  let found = value;
  for (const name of names)
    found =
      typeof found === "object" && found !== null && name in found
        ? (found as Record<string, unknown>)[name]
        : undefined;
  return found;
}

export function textOf(value: unknown, ...names: string[]): string {
  const found = fieldOf(value, ...names);
  return typeof found === "string" ? found : "";
}

/** `group/shop` in a URL: each part is encoded, the slashes are not. */
export function inUrl(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** A difference if the hook does not send all these events. */
export function missingEvents(missing: string[]): Parameters<typeof firstDifference>[0][number] {
  const note = reasonText("note_events", { events: missing.join(", ") });
  return { isWrong: missing.length > 0, state: "changed", note };
}

/** A difference if the hook sends only events of some branches: the filters of the project decide. */
export function branchFilter(filter: string): Parameters<typeof firstDifference>[0][number] {
  const isWrong = filter !== "" && filter !== "*" && filter !== "**";
  return { isWrong, state: "changed", note: reasonText("note_branches", { filter: filter.slice(0, 200) }) };
}

/** The first difference between the hook at the host and the created hook. */
export function firstDifference(
  checks: { isWrong: boolean; state: FoundHook["state"]; note: string }[],
): FoundHook {
  const found = checks.find(({ isWrong }) => isWrong);
  return found ? { state: found.state, note: found.note } : { state: "ok", note: "" };
}

export function listIn(value: unknown): unknown[] | null {
  return Array.isArray(value) ? value : null;
}

/** Null: the text is empty or not a date. */
export function dateOf(text: string): Date | null {
  const date = new Date(text);
  return text === "" || Number.isNaN(date.getTime()) ? null : date;
}
