import pino from "pino";
import type { AppRole } from "../../src/app/app-context.ts";
import { type App, buildApp } from "../../src/app.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import type { Config } from "../../src/config/config.ts";
import { configOf } from "../../src/config/config-load.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export const adminPassword = "the admin password of tests";

export interface Answer {
  status: number;
  headers: Headers;
  /** Parsed where it is JSON, text otherwise, null when empty. */
  body: unknown;
  text: string;
}

export interface ApiClient {
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** The body of the response, which must have this status. */
  expect<T = Record<string, unknown>>(
    status: number,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<T>;
}

export interface ApiServer {
  app: App;
  url: string;
  dataDir: string;
  /** Every line that was logged. */
  logLines: string[];
  anonymous: ApiClient;
  admin: ApiClient;
  /** A client with this bearer token. */
  as(token: string): ApiClient;
  signIn(username: string, password: string): Promise<ApiClient>;
  /** Creates a user and signs it in. */
  newUser(username: string, role?: "admin" | "user"): Promise<{ id: number; client: ApiClient }>;
  stop(): Promise<void>;
}

export const userPassword = "the password of a test user";

/** A role on port 0 with a throw-away SQLite database, signed in as admin. */
export async function startApiServer(
  settings: Partial<Config> = {},
  clock: Clock = systemClock,
  role: AppRole = "deploy",
): Promise<ApiServer> {
  const dataDir = temporaryFolder("api");
  const logLines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void logLines.push(line) });
  process.env.SLIPWAY_ADMIN_PASSWORD = adminPassword;
  const config = configOf({
    "server.listen": { host: "127.0.0.1", port: 0 },
    "data.dir": dataDir,
    "runner.enabled": false,
    ...settings,
  });
  const app = await buildApp(config, role, log, clock);
  const anonymous = buildClient(app.url, {});
  const as = (token: string) => clientWith(app.url, token);
  const signIn = (username: string, password: string) => signInAt(app.url, username, password);
  const admin = await signIn("admin", adminPassword);
  return {
    app,
    url: app.url,
    dataDir,
    logLines,
    anonymous,
    admin,
    as,
    signIn,
    async newUser(username, role = "user") {
      const body = { username, password: userPassword, role };
      const { id } = await admin.expect<{ id: number }>(201, "POST", "/api/users", body);
      return { id, client: await signIn(username, userPassword) };
    },
    stop: () => app.stop(),
  };
}

function clientWith(url: string, token: string): ApiClient {
  return buildClient(url, { authorization: `Bearer ${token}` });
}

export async function signInAt(url: string, username: string, password: string): Promise<ApiClient> {
  const body = { username, password };
  const session = await buildClient(url, {}).expect<{ token: string }>(200, "POST", "/api/auth/login", body);
  return clientWith(url, session.token);
}

function buildClient(url: string, own: Record<string, string>): ApiClient {
  async function request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const isText = typeof body === "string";
    const response = await fetch(url + path, {
      method,
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...own, ...headers },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    // A response to HEAD has a content type but no body.
    const isJson = text !== "" && (response.headers.get("content-type")?.includes("json") ?? false);
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : text || null,
    };
  }
  return {
    request,
    async expect<T>(status: number, method: string, path: string, body?: unknown): Promise<T> {
      const answer = await request(method, path, body);
      if (answer.status !== status)
        throw new Error(`${method} ${path} answered ${answer.status} instead of ${status}: ${answer.text}`);
      return answer.body as T;
    },
  };
}
