import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { Fault, type FaultCode, type FieldFault, httpStatusOf } from "../errors.ts";
import type { OutputOptions } from "./output.ts";

/** Where a command finds the server, and as whom it asks. */
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

/** A list of the API. */
export interface List<T> {
  items: T[];
  total: number;
  page: number;
  pageSize: number;
}

/** An id as it stands in a path. */
export function segment(id: string): string {
  return encodeURIComponent(id);
}

export interface Remote {
  url: string;
  get<T>(path: string): Promise<T>;
  send<T>(method: "POST" | "PUT" | "DELETE" | "PATCH", path: string, body?: unknown): Promise<T>;
  /** The answer as it comes, for streams. */
  open(path: string, init?: RequestInit): Promise<Response>;
}

/** Talks to the management API. */
export function apiRemote(options: RemoteOptions): Remote {
  const kept = readSignIn();
  const url = baseOf(options, kept);
  const token = options.token ?? process.env.SLIPWAY_TOKEN ?? (kept?.url === url ? kept.token : undefined);
  return remote(url, token ? { authorization: `Bearer ${token}` } : {});
}

/** Talks to /feign: with --api-key, or from inside the internal networks without. */
export function feignRemote(options: RemoteOptions): Remote {
  const apiKey = options.apiKey ?? process.env.SLIPWAY_API_KEY;
  return remote(baseOf(options, readSignIn()), apiKey ? { "x-api-key": apiKey } : {});
}

function baseOf(options: RemoteOptions, kept: SignIn | null): string {
  return (options.url ?? process.env.SLIPWAY_URL ?? kept?.url ?? "http://127.0.0.1:8080").replace(/\/+$/, "");
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
      throw new Fault(
        "unavailable",
        `No answer from ${url}. Is the server running there? Name another with --url or SLIPWAY_URL.`,
        { cause },
      );
    });
    if (!response.ok) throw await faultOf(response, url, headers);
    return response;
  };
  const read = async <T>(response: Response): Promise<T> => {
    if (response.status === 204) return undefined as T;
    return (await response.json().catch((cause: unknown) => {
      throw new Fault(
        "unavailable",
        `What answers at ${url} is not Slipway, or something on the way to it answers instead. Name another with --url or SLIPWAY_URL.`,
        { cause },
      );
    })) as T;
  };
  return {
    url,
    open,
    get: async <T>(path: string) => read<T>(await open(path)),
    send: async <T>(method: string, path: string, body?: unknown) =>
      read<T>(await open(path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })),
  };
}

export const loginPath = "/api/auth/login";

/** The server's own words: `{error:{…}}` of the API, the failure envelope of /feign, or the delivery response. */
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
    // A damaged file means signed out; `slipway login` writes it anew.
    return null;
  }
}

export function keepSignIn(signIn: SignIn): void {
  mkdirSync(dirname(signInFile()), { recursive: true });
  writeFileSync(signInFile(), JSON.stringify(signIn), { mode: 0o600 });
  // The mode above counts only for a new file.
  chmodSync(signInFile(), 0o600);
}

/**
 * Ends the session that is kept, at the server where it was made, whatever else options or environment name. Answers
 * that server's address, or null when none is kept. A session that is over already is as good as ended.
 */
export async function endSignIn(): Promise<string | null> {
  const kept = readSignIn();
  if (kept !== null)
    await remote(kept.url, { authorization: `Bearer ${kept.token}` })
      .send("POST", "/api/auth/logout")
      .catch((error: unknown) => {
        if (!(error instanceof Fault && error.code === "unauthenticated")) throw error;
      });
  rmSync(signInFile(), { force: true });
  return kept?.url ?? null;
}

/** Lines of a stream as they come. */
export async function* linesOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim()) yield line;
  }
}
