import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { Fault, type FaultCode, type FieldFault, httpStatusOf } from "../../errors.ts";
import type { ProjectAnswer } from "../../http/api/project-shape.ts";
import type { Page } from "../../model/page.ts";
import type { OutputOptions } from "../output.ts";

/** Address and credentials of the server that a command calls. */
export interface RemoteOptions extends OutputOptions {
  url?: string;
  token?: string;
  apiKey?: string;
}

export function addRemote(command: Command): Command {
  return command
    .option("--url <url>", "address of the server (SLIPWAY_URL, or where you signed in)")
    .option("--token <token>", "API token (SLIPWAY_TOKEN, or the one of `slipway login`)")
    .option("--json", "print JSON");
}

/** For commands that call /feign. */
export function withApiKey(command: Command): Command {
  return addRemote(command).option("--api-key <key>", "key of push.api-keys (SLIPWAY_API_KEY)");
}

/** An id as a segment of a path. */
export function segment(id: string): string {
  return encodeURIComponent(id);
}

export type Method = "POST" | "PUT" | "DELETE" | "PATCH";

export interface Remote {
  url: string;
  get<T>(path: string): Promise<T>;
  send<T>(method: Method, path: string, body?: unknown, headers?: Record<string, string>): Promise<T>;
  /** The response itself, for streams. */
  open(path: string, init?: RequestInit): Promise<Response>;
}

/** Of the search by a part of the name. */
const maxSearchLength = 100;

/** The path of the API of a project that was given by its id or its name. */
export async function projectPath(api: Remote, project: string): Promise<string> {
  if (/^\d+$/.test(project)) return `/api/projects/${project}`;
  const path = await projectNamed(api, project);
  if (path !== null) return path;
  throw new Fault(
    "not_found",
    `There is no project "${project}" that you may view; \`slipway project list\` lists them.`,
  );
}

/** As `projectPath`, of a project that was given by its name; null: there is none that the caller may view. */
export async function projectNamed(api: Remote, project: string): Promise<string | null> {
  const search = new URLSearchParams({ search: project.slice(0, maxSearchLength), pageSize: "200" });
  const { items } = await api.get<Page<ProjectAnswer>>(`/api/projects?${search}`);
  const [found, ...others] = items.filter(({ name }) => name === project);
  if (!found) return environmentNamed(api, project);
  if (others.length > 0) {
    const ids = [found, ...others].map(({ id }) => id).join(", ");
    throw new Fault("invalid", `Several projects have the name "${project}"; give one of their ids: ${ids}.`);
  }
  return `/api/projects/${segment(String(found.id))}`;
}

/** `shop/staging`: an environment of the project shop. */
async function environmentNamed(api: Remote, name: string): Promise<string | null> {
  const [, project, environment] = /^(.+)\/([^/]+)$/.exec(name) ?? [];
  if (project === undefined) return null;
  const path = await projectNamed(api, project);
  if (path === null) return null;
  const { items } = await api.get<{ items: { name: string; projectId: number }[] }>(`${path}/environments`);
  const found = items.find((each) => each.name === environment);
  return found === undefined ? null : `/api/projects/${segment(String(found.projectId))}`;
}

/** Calls the management API. */
export function apiRemote(options: RemoteOptions): Remote {
  const stored = readSignIn();
  const url = baseOf(options, stored);
  const token =
    options.token ?? process.env.SLIPWAY_TOKEN ?? (stored?.url === url ? stored.token : undefined);
  return remote(url, token ? { authorization: `Bearer ${token}` } : {});
}

/** Calls /feign, which needs no key inside the internal networks. */
export function feignRemote(options: RemoteOptions): Remote {
  const apiKey = options.apiKey ?? process.env.SLIPWAY_API_KEY;
  return remote(baseOf(options, readSignIn()), apiKey ? { "x-api-key": apiKey } : {});
}

function baseOf(options: RemoteOptions, stored: SignIn | null): string {
  const url = options.url || process.env.SLIPWAY_URL || stored?.url || "http://127.0.0.1:8080";
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new Fault("invalid", `"${url}" is no address of a server: it must start with http:// or https://.`);
  return url.replace(/\/+$/, "");
}

/** What to do about a call without an answer. */
function unanswered(url: string, cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (code === "EPROTO")
    return `The server at ${url} does not use TLS there. Name another address with --url or SLIPWAY_URL.`;
  if (/CERT|UNABLE_TO/.test(code))
    return `The certificate of ${url} is not accepted (${code}). Use the name that it was issued for, and name a file with its authority in NODE_EXTRA_CA_CERTS.`;
  return `No answer from ${url}. Is the server running there? Name another with --url or SLIPWAY_URL.`;
}

function remote(url: string, headers: Record<string, string>): Remote {
  const open = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const response = await fetch(`${url}${path}`, {
      ...init,
      headers: {
        ...headers,
        ...(init.body ? { "content-type": "application/json" } : {}),
        ...(init.headers as Record<string, string>),
      },
    }).catch((cause: unknown) => {
      throw new Fault("unavailable", unanswered(url, cause), { cause });
    });
    if (!response.ok) throw await faultOf(response, url, headers);
    return response;
  };
  const read = async <T>(response: Response): Promise<T> => {
    if (response.status === 204) return undefined as T;
    return (await response.json().catch((cause: unknown) => {
      throw new Fault(
        "unavailable",
        `The server at ${url} is not Slipway, or a proxy answered instead. Name another with --url or SLIPWAY_URL.`,
        { cause },
      );
    })) as T;
  };
  return {
    url,
    open,
    get: async <T>(path: string) => read<T>(await open(path)),
    send: async <T>(method: Method, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      read<T>(
        await open(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
      ),
  };
}

export const loginPath = "/api/auth/login";

/** The error of the server: `{error:{…}}` of the API, the failure envelope of /feign, or a delivery response. */
async function faultOf(response: Response, url: string, headers: Record<string, string>): Promise<Fault> {
  const body = (await response.json().catch(() => ({}))) as {
    error?: { message?: string; fields?: FieldFault[] };
    message?: string;
    reason?: string;
  };
  const codes = Object.keys(httpStatusOf) as FaultCode[];
  const code = codes.find((candidate) => httpStatusOf[candidate] === response.status) ?? "internal";
  const message =
    body.error?.message ?? body.reason ?? body.message ?? `The server answered ${response.status}.`;
  if (code === "unauthenticated" && !response.url.endsWith(loginPath)) {
    const problem = headers.authorization ? message : `You are not signed in at ${url}.`;
    return new Fault(code, `${problem} Sign in with \`slipway login\`, or pass --token.`);
  }
  return new Fault(code, message, body.error?.fields ? { fields: body.error.fields } : {});
}

interface SignIn {
  url: string;
  token: string;
}

function signInFile(): string {
  return join(process.env.XDG_CONFIG_HOME ?? join(homedir(), ".config"), "slipway", "sign-in.json");
}

function readSignIn(): SignIn | null {
  if (!existsSync(signInFile())) return null;
  try {
    return JSON.parse(readFileSync(signInFile(), "utf8")) as SignIn;
  } catch {
    // A damaged file counts as signed out; `slipway login` replaces it.
    return null;
  }
}

export function storeSignIn(signIn: SignIn): void {
  mkdirSync(dirname(signInFile()), { recursive: true });
  writeFileSync(signInFile(), JSON.stringify(signIn), { mode: 0o600 });
  // The mode above applies only to a new file.
  chmodSync(signInFile(), 0o600);
}

/**
 * Ends the stored session at its own server, whatever options and environment name. Returns the address of that server,
 * or null if no session is stored. An expired session counts as ended.
 */
export async function endSignIn(): Promise<string | null> {
  const stored = readSignIn();
  if (stored !== null)
    await remote(stored.url, { authorization: `Bearer ${stored.token}` })
      .send("POST", "/api/auth/logout")
      .catch((error: unknown) => {
        if (!(error instanceof Fault && error.code === "unauthenticated")) throw error;
      });
  rmSync(signInFile(), { force: true });
  return stored?.url ?? null;
}

/** Yields the lines of a stream as they arrive. */
export async function* linesOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim()) yield line;
  }
}
