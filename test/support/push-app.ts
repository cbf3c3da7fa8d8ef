import pino from "pino";
import { type App, buildApp } from "../../src/app.ts";
import type { Config } from "../../src/config/config.ts";
import { configOf } from "../../src/config/config-load.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { startVerifyService, type VerifyService } from "./verify-service.ts";

export interface PushApp {
  app: App;
  config: Config;
  url: string;
  wsUrl: string;
  port: number;
  verify: VerifyService;
  publish(body: unknown, headers?: Record<string, string>): Promise<Response>;
  get(path: string): Promise<Response>;
  post(path: string, body: unknown): Promise<Response>;
  online(): Promise<string[]>;
  metric(name: string): Promise<number>;
  stop(): Promise<void>;
}

/** The push role alone on a free port, with a verify service that uses the code as the user id. */
export async function startPushApp(
  values: Partial<Config> = {},
  log = pino({ level: "silent" }),
): Promise<PushApp> {
  const verify = startVerifyService();
  const dataDir = temporaryFolder("push");
  const config = configOf({
    "server.listen": { host: "127.0.0.1", port: 0 },
    "data.dir": dataDir,
    "push.verify-uri": verify.url,
    "push.connect-rate": 0,
    "push.drain-delay": 0,
    "push.drain-period": 0,
    ...values,
  });
  const app = await buildApp(config, "push", log);
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(app.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return {
    app,
    config,
    url: app.url,
    wsUrl: `${app.url.replace("http", "ws")}/ws`,
    port: app.port,
    verify,
    publish: (body, headers) => post("/feign/publish", body, headers),
    get: (path) => fetch(app.url + path),
    post,
    async online() {
      const answer = (await (await fetch(`${app.url}/feign/getOnlineUsers`)).json()) as { data: string[] };
      return answer.data.sort();
    },
    async metric(name) {
      const text = await (await fetch(`${app.url}/metrics`)).text();
      const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
      return Number(line?.split(" ").at(-1) ?? Number.NaN);
    },
    async stop() {
      await app.stop();
      await verify.stop();
    },
  };
}
