import { newReason, type Reason } from "../../reason/reason.ts";
import { isTrueAt } from "../delivery/json-reader.ts";

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
  state: "ok" | "disabled" | "changed";
  note: Reason;
}

/** A difference between the hook at the host and the created hook, if it is wrong. */
interface Difference {
  isWrong: boolean;
  /** `changed` unless given. */
  state?: "disabled";
  note: Reason;
}

/** How the API of a kind of Git host creates webhooks and deploy keys, after its published reference. */
export interface HostApi {
  /** Base of the API of a server. */
  baseOf(origin: string): string;
  /** Headers of each call, besides those with the token. */
  headers: Record<string, string>;
  /** A call without a token by which a server is recognised. */
  probe?: { path: string; isAnsweredBy(answer: Pick<HostAnswer, "status" | "json">): boolean };
  /** `answer` is the host's answer about the user of the token. */
  tokenFacts(call: HostCall, answer: HostAnswer): Promise<TokenFacts>;
  /** Length from which a search finds parts of names at the host; null: the host cannot search this list. */
  minSearchLength: number | null;
  /** Path of the list of repositories, and its query without the page. */
  repositories(query: RepositoryQuery): { path: string; query: Record<string, string> };
  /** Null: the answer is not a list. */
  repositoriesIn(json: unknown): unknown[] | null;
  /** Null: the user may not change the settings of the repository. */
  readRepository(json: unknown): HostRepository | null;
  /** Path of a repository. */
  pathOf(path: string): string;
  /** The parameter for the largest page of a list. */
  largestPage: Record<string, string>;
  hookUrl(json: unknown): string;
  hookBody(wanted: WantedHook): Record<string, unknown>;
  /** Fields that a new hook has in addition. */
  newHookFields: Record<string, unknown>;
  updateMethod: "PATCH" | "PUT";
  differences(hook: unknown, url: string): Difference[];
  /** The list of deploy keys. */
  keys: "keys" | "deploy_keys";
  /** Fields by which a new key can only read. */
  readOnlyKeyFields: Record<string, unknown>;
  /** Whether the key may only read; hosts that have no other deploy keys do not say so. */
  isReadOnlyKey(json: unknown): boolean;
}

/** The calls about one repository. */
export function requestsOf(api: HostApi, repository: string) {
  const hooks = `${api.pathOf(repository)}/hooks`;
  const keys = `${api.pathOf(repository)}/${api.keys}`;
  return {
    listHooks: (page: number): HostRequest => pageOf(api, { path: hooks, query: {} }, page),
    createHook: (wanted: WantedHook): HostRequest => ({
      ...{ method: "POST", path: hooks, body: { ...api.newHookFields, ...api.hookBody(wanted) } },
    }),
    updateHook: (id: string, wanted: WantedHook): HostRequest => ({
      ...{ method: api.updateMethod, path: `${hooks}/${id}`, body: api.hookBody(wanted) },
    }),
    readHook: (id: string): HostRequest => ({ method: "GET", path: `${hooks}/${id}` }),
    deleteHook: (id: string): HostRequest => ({ method: "DELETE", path: `${hooks}/${id}` }),
    createKey: (title: string, key: string): HostRequest => ({
      ...{ method: "POST", path: keys, body: { title, key, ...api.readOnlyKeyFields } },
    }),
    readKey: (id: string): HostRequest => ({ method: "GET", path: `${keys}/${id}` }),
    deleteKey: (id: string): HostRequest => ({ method: "DELETE", path: `${keys}/${id}` }),
  };
}

/** One page of a list, from 1. */
export function pageOf(
  { largestPage }: HostApi,
  { path, query }: { path: string; query: Record<string, string> },
  page: number,
): HostRequest {
  return { method: "GET", path, query: { ...query, ...largestPage, page: String(page) } };
}

/** The first difference between the hook at the host and the created hook. */
export function compareHook(api: HostApi, hook: unknown, url: string): FoundHook {
  const found = api.differences(hook, url).find(({ isWrong }) => isWrong);
  return found ? { state: found.state ?? "changed", note: found.note } : { state: "ok", note: "" };
}

export function otherAddress(isWrong: boolean): Difference {
  return { isWrong, note: newReason("note_address") };
}

/** A difference if the hook does not send all these events. */
export function missingEvents(missing: string[]): Difference {
  return { isWrong: missing.length > 0, note: newReason("note_events", { events: missing.join(", ") }) };
}

const eventFields = ["push_events", "tag_push_events", "merge_requests_events"];
/** All events, as fields of a hook of GitLab and Gitee. */
export const allEventFields = Object.fromEntries(eventFields.map((name) => [name, true]));

export function missingEventFields(hook: unknown): Difference {
  return missingEvents(eventFields.filter((name) => !isTrueAt(hook, name)));
}

/** A difference if the hook sends only events of some branches: the filters of the project decide. */
export function branchFilter(filter: string): Difference {
  const isWrong = filter !== "" && filter !== "*" && filter !== "**";
  return { isWrong, note: newReason("note_branches", { filter: filter.slice(0, 200) }) };
}

export function uncheckedCertificate(isWrong: boolean): Difference {
  return { isWrong, note: newReason("note_certificate") };
}

/** Null: the text is empty or not a date. */
export function dateOf(text: string): Date | null {
  const date = new Date(text);
  return text === "" || Number.isNaN(date.getTime()) ? null : date;
}
