import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DeliveryOrder } from "./delivery-load.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

/** A server that takes signed pushes, and where to send them. */
export interface HookTarget extends ServerProcess {
  order: Pick<DeliveryOrder, "url" | "targets" | "expectedStatus">;
  /** Whether it stores the deliveries. */
  records: boolean;
}

const bun = process.execPath;
const secret = "a secret of the benchmark";
export const adminPassword = "password of the benchmark";

/** The deploy role with its defaults, except for the rate limit and debounce, which the benchmark would hit. */
export function startDeployRole(dataDir: string, databaseUrl?: string): Promise<ServerProcess> {
  const name = databaseUrl === undefined ? "Slipway" : "Slipway on PostgreSQL";
  return startServer(name, [bun, "src/main.ts", "deploy"], {
    ...(databaseUrl === undefined ? {} : { SLIPWAY_DATABASE_URL: databaseUrl }),
    SLIPWAY_SERVER_LISTEN: "127.0.0.1:0",
    SLIPWAY_DATA_DIR: dataDir,
    SLIPWAY_ADMIN_PASSWORD: adminPassword,
    SLIPWAY_WEBHOOK_LIMIT_PER_MINUTE: "100000000",
    SLIPWAY_WEBHOOK_DEBOUNCE_SECONDS: "0",
    SLIPWAY_LOG_LEVEL: "warn",
  });
}

/** Calls the management API as admin. */
export async function adminOf(url: string) {
  const ask = async (method: string, path: string, body?: object, token?: string) => {
    const response = await fetch(url + path, {
      method,
      headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const { token } = await ask("POST", "/api/auth/login", { username: "admin", password: adminPassword });
  return (method: string, path: string, body?: object) => ask(method, path, body, String(token));
}

export async function startDeploy(
  dataDir: string,
  projects: number,
  databaseUrl?: string,
): Promise<HookTarget> {
  const server = await startDeployRole(dataDir, databaseUrl);
  const admin = await adminOf(server.url);
  const targets = [];
  for (let index = 0; index < projects; index++) {
    const git = { url: "https://git.example.com/shop.git" };
    const project = await admin("POST", "/api/projects", { name: `project ${index}`, git });
    const own = `${secret} ${index}`;
    const webhook = { enabled: true, provider: "github", secret: own };
    const { url } = await admin("PUT", `/api/projects/${project.id}/webhook`, webhook);
    targets.push({ path: new URL(String(url)).pathname, secret: own });
  }
  return { ...server, records: true, order: { url: server.url, targets, expectedStatus: 202 } };
}

export async function startOctokit(): Promise<HookTarget> {
  const command = ["node", "bench/peers/octokit-webhooks.mjs"];
  const server = await startServer("@octokit/webhooks on Node", command, { WEBHOOK_SECRET: secret });
  const targets = [{ path: "/hook", secret }];
  return { ...server, records: false, order: { url: server.url, targets, expectedStatus: 200 } };
}

/** github.com/adnanh/webhook as Debian packages it; null where it is not installed. */
export async function startAdnanhWebhook(folder: string): Promise<HookTarget | null> {
  if (Bun.which("webhook") === null) return null;
  const hooks = join(folder, "hooks");
  mkdirSync(hooks, { recursive: true });
  const signature = { source: "header", name: "X-Hub-Signature-256" };
  const rule = { match: { type: "payload-hmac-sha256", secret, parameter: signature } };
  const hook = { id: "push", "execute-command": "/bin/true", "trigger-rule": rule };
  writeFileSync(join(hooks, "hooks.json"), JSON.stringify([hook]));
  const port = freePort();
  const isUp = `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null`;
  const announce = `until ${isUp}; do sleep 0.05; done; echo ready at http://127.0.0.1:${port}`;
  const start = `exec webhook -hooks ${join(hooks, "hooks.json")} -ip 127.0.0.1 -port ${port}`;
  const server = await startServer("webhook with /bin/true", ["bash", "-c", `(${announce}) & ${start}`]);
  const targets = [{ path: "/hooks/push", secret }];
  return { ...server, records: false, order: { url: server.url, targets, expectedStatus: 200 } };
}

function freePort(): number {
  const probe = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("") });
  const { port = 0 } = probe;
  void probe.stop(true);
  return port;
}
