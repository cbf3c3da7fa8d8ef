import type { Server, WebSocketHandler } from "bun";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { Handler, Routes } from "../http/server.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";

/** Selects the parts of the program that run: both, the gateway, or the deploy service. */
export type AppRole = "start" | "push" | "deploy";

/** Dependencies of every part. */
export interface AppContext {
  config: Config;
  log: Log;
  metrics: Metrics;
  clock: Clock;
}

/** What a part (push gateway, deploy service) brings to the program. */
export interface Part {
  routes: Routes;
  /** Answers what no route matched, or undefined to leave it to the next part. */
  fetch?: Handler;
  websocket?: WebSocketHandler<never>;
  /** Called once the server listens. Requests are already answered; /readyz answers 503 until every part has started. */
  started?(server: Server<unknown>): void | Promise<void>;
  /** Null while it can do its work; otherwise what is missing, for /readyz. */
  missing(): Promise<string | null>;
  /** Facts for the lines printed at start: "database: SQLite, data/slipway.db". */
  facts: string[];
  /** What an operator should know at start: "no api key although …". */
  warnings: string[];
  /** Takes no more work and finishes what is in hand, while the server still serves. */
  drain?(): Promise<void>;
  /** Answers long-polling requests right before the server closes, which would otherwise wait for them. */
  release?(): void;
  /** Closes what it opened, after the server has closed. */
  close(): Promise<void>;
}
