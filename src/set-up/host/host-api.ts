import type { HookState } from "../../model/host/host-hook.ts";
import type { HostKind } from "../../model/host/host-token.ts";

/** A call of a host's API, relative to its base. */
export interface HostRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Record<string, string>;
  body?: Record<string, unknown>;
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
  /** Repositories whose settings the user may change. */
  listRepositories: HostRequest;
  readRepository(json: unknown): HostRepository | null;
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

/** The first difference between the hook at the host and the one that was created. */
export function firstDifference(
  checks: { isWrong: boolean; state: FoundHook["state"]; note: string }[],
): FoundHook {
  const found = checks.find(({ isWrong }) => isWrong);
  return found ? { state: found.state, note: found.note } : { state: "ok", note: "" };
}
