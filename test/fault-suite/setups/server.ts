import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Api } from "../load/api.ts";
import type { Surroundings } from "../surroundings.ts";
import { Link } from "./link.ts";
import { type Instance, type Part, until } from "./part.ts";
import { slipwayPart } from "./slipway-process.ts";
import type { RunnerToken } from "./world.ts";

const startLimitMs = 120_000;

/** Settings of a server under test: as in production, with short leases and drains. */
export function serverFlags(
  around: Surroundings,
  port: number,
  dataDir: string,
  leaseMs: number,
): Record<string, string> {
  return {
    ...gatewayFlags(around, port, dataDir),
    "tasks-allow-local-repositories": "true",
    "tasks-allow-internal-notifications": "true",
    "tasks-lease": `${leaseMs / 1000}s`,
    ...(around.knowsReleases ? { "webhook-reconcile-minutes": "0.1" } : {}),
    "tasks-stop-grace": "500ms",
  };
}

export function gatewayFlags(around: Surroundings, port: number, dataDir: string): Record<string, string> {
  return {
    "server-listen": `127.0.0.1:${port}`,
    "data-dir": dataDir,
    "push-verify-uri": `${around.verifyLink.url}/verify`,
    "push-connect-rate": "0",
    "push-drain-delay": "200ms",
    "push-drain-period": "1s",
    "log-format": "json",
  };
}

export async function startAll(parts: Part[]): Promise<void> {
  await Promise.all(
    parts.map(async (part) => {
      await part.start();
      const isReady = await until(async () => {
        // As its supervisor does: on a busy machine a server may give up waiting for its database.
        if (!part.isRunning()) await part.start();
        return part.isReady();
      }, startLimitMs);
      if (!isReady) throw new Error(`${part.name} does not start:\n${part.output()}`);
    }),
  );
}

/** A runner on "another machine": its own process and folder, and a network that can break. */
export async function addRemoteRunner(
  around: Surroundings,
  servers: Instance[],
  server: Instance,
  name: string,
): Promise<{ part: Part; link: Link; token: RunnerToken }> {
  const api = new Api(servers);
  const made = await api.call<{ id: number; token: string }>("POST", "/api/runners", {
    name,
    concurrency: 3,
  });
  const link = await Link.open(`${name} → ${server.part.name}`, server.port);
  const dataDir = join(around.folder, name.replaceAll(" ", "-"));
  mkdirSync(dataDir, { recursive: true });
  const environment = { SLIPWAY_RUNNER_SERVER: link.url, SLIPWAY_RUNNER_TOKEN: made.token };
  const part = slipwayPart({
    name,
    role: "runner",
    program: around.program,
    command: "runner",
    flags: {
      "data-dir": dataDir,
      ...around.runnerFlags(name),
      "tasks-concurrency": "3",
      "tasks-stop-grace": "500ms",
      "log-format": "json",
    },
    environment,
    logFile: join(around.folder, `${name.replaceAll(" ", "-")}.log`),
    isReady: async () => true,
  });
  await part.start();
  const token: RunnerToken = {
    part,
    async renew() {
      const path = `/api/runners/${made.id}/reset-token`;
      environment.SLIPWAY_RUNNER_TOKEN = (await api.call<{ token: string }>("POST", path)).token;
    },
    setDisabled: async (disabled) => {
      await api.call("PATCH", `/api/runners/${made.id}`, { disabled });
    },
  };
  return { part, link, token };
}
