import type { Server, WebSocketHandler } from "bun";
import type { ListenAddress } from "../setting-kinds.ts";

export type Handler = (
  request: Request,
  server: Server<unknown>,
) => Response | undefined | Promise<Response | undefined>;

/** Exact paths and `:name` or `/*` patterns, matched natively before `fetch` is asked. */
export type Routes = Record<
  string,
  Handler | Partial<Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE", Handler>>
>;

export interface HttpParts {
  routes: Routes;
  /** Answers all that no route matched. */
  fetch: Handler;
  websocket?: WebSocketHandler<never>;
}

/**
 * Bun's own limit of a request body. It answers a bare 413 before our code runs, so it stays above every limit of ours
 * (webhook.maxBodyKB is at most 100 MiB), and we count while streaming.
 */
const maxRequestBodySize = 128 * 1024 * 1024;

export function listenOn(address: ListenAddress, parts: HttpParts): Server<unknown> {
  return Bun.serve({
    hostname: address.host,
    port: address.port,
    maxRequestBodySize,
    idleTimeout: 120,
    routes: parts.routes as never,
    fetch: parts.fetch as never,
    ...(parts.websocket ? { websocket: parts.websocket as never } : {}),
  }) as Server<unknown>;
}
