import type { Server, WebSocketHandler } from "bun";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { Handler, Routes } from "../http/server.ts";
import type { Logger } from "../logger.ts";
import type { Metrics } from "../metrics.ts";
import type { Reason } from "../reason/reason.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { WorkerStart } from "../workers/protocol.ts";
import type { WorkerLink } from "../workers/worker/worker-link.ts";

/** Selects the parts of the program that run: both, the gateway, or the deploy service. */
export type AppRole = "start" | "push" | "deploy";

/** Dependencies of every part. */
export interface AppContext {
  config: Config;
  log: Logger;
  metrics: Metrics;
  telemetry: Telemetry;
  clock: Clock;
  /** Set in a worker of an instance with several processes. */
  worker?: WorkerContext | undefined;
}

/** A worker's place in its instance. */
export interface WorkerContext extends Pick<WorkerStart, "worker" | "workers" | "node" | "bootTag"> {
  link: WorkerLink;
}

/** A part of the program: the push gateway or the deploy service. */
export interface Part {
  routes: Routes;
  /** Answers a request that matches no route; undefined leaves it to the next part. */
  fetch?: Handler;
  websocket?: WebSocketHandler<never>;
  /** Called before the server listens, to wait for what every request needs. */
  prepare?(): Promise<void>;
  /** Called once the server listens. Requests are already answered; /readyz answers 503 until every part has started. */
  started?(server: Server<unknown>): void | Promise<void>;
  /** Null while it is ready; otherwise what is missing, for /readyz. */
  missing(): Promise<string | null>;
  /** Lines of the start text: "database: SQLite, data/slipway.db". */
  facts: string[];
  /** Warnings of the start text and of the system page. */
  warnings: Reason[];
  /** Accepts no more work and finishes the work in progress, while the server still answers. */
  drain?(signal?: NodeJS.Signals): Promise<void>;
  /** Answers long-polling requests right before the server closes, which would otherwise wait for them. */
  release?(): void;
  /** Closes what it opened, after the server has closed. */
  close(): Promise<void>;
}
