import pino from "pino";
import { buildPushPart } from "../../src/app/push-part.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import type { Config } from "../../src/config/config.ts";
import { configOf } from "../../src/config/config-load.ts";
import { listenOn } from "../../src/http/server.ts";
import { buildMetrics } from "../../src/metrics.ts";
import type { Gateway } from "../../src/push/gateway.ts";
import { silentTelemetry } from "../../src/telemetry/telemetry.ts";
import { startVerifyService } from "./verify-service.ts";

export interface GatewayServer {
  gateway: Gateway;
  port: number;
  url: string;
  wsUrl: string;
  metric(name: string): Promise<number>;
  /** Requests that the server has not answered completely. */
  openRequests(): number;
  stop(): Promise<void>;
}

/** A gateway with a real server. Tests can call the gateway directly, to publish many messages in one turn. */
export async function startGateway(
  values: Partial<Config> = {},
  clock: Clock = systemClock,
): Promise<GatewayServer> {
  const verify = startVerifyService();
  const metrics = buildMetrics();
  const defaults = { "push.connect-rate": 0, "push.log-file": false };
  const config = configOf({ "push.verify-uri": verify.url, ...defaults, ...values });
  const log = pino({ level: "silent" });
  const part = await buildPushPart({ config, log, metrics, telemetry: silentTelemetry, clock }, null);
  const server = listenOn(
    { host: "127.0.0.1", port: 0 },
    {
      routes: part.routes,
      fetch: () => new Response(null, { status: 404 }),
      log,
      ...(part.websocket ? { websocket: part.websocket } : {}),
    },
  );
  await part.prepare?.();
  await part.started?.(server);
  return {
    gateway: part.gateway,
    port: server.port ?? 0,
    url: `http://127.0.0.1:${server.port}`,
    wsUrl: `ws://127.0.0.1:${server.port}/ws`,
    openRequests: () => server.pendingRequests,
    async metric(name) {
      const line = (await metrics.metrics()).split("\n").find((text) => text.startsWith(`${name} `));
      return Number(line?.split(" ").at(-1) ?? Number.NaN);
    },
    async stop() {
      for (const socket of [...part.gateway.connections.all()]) socket.close();
      await server.stop(true);
      await part.close();
      await verify.stop();
    },
  };
}
