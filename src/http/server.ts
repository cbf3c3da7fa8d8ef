import type { Server, WebSocketHandler } from "bun";
import { Fault } from "../errors.ts";
import type { ListenAddress } from "../listen-address.ts";
import type { Log } from "../log.ts";
import { thrownResponse } from "./respond.ts";

export type Handler = (
  request: Request,
  server: Server<unknown>,
) => Response | undefined | Promise<Response | undefined>;

/** Exact paths and `:name` or `/*` patterns, matched natively before `fetch` is asked. */
export type Routes = Record<
  string,
  Handler | Partial<Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE", Handler>>
>;

/** `POST /path` for each method of a route, or `* /path` if it accepts any. */
export function routeNames(routes: Routes): string[] {
  return Object.entries(routes).flatMap(([path, handler]) =>
    typeof handler === "function" ? [`* ${path}`] : Object.keys(handler).map((method) => `${method} ${path}`),
  );
}

export interface HttpParts {
  routes: Routes;
  /** Answers all that no route matched. */
  fetch: Handler;
  websocket?: WebSocketHandler<never>;
  log: Log;
}

/**
 * Bun's own limit of a request body. It answers a bare 413 before our code runs, so it stays above every limit of ours
 * (webhook.maxBodyKB is at most 100 MiB), and we count while streaming.
 */
const maxRequestBodySize = 128 * 1024 * 1024;

export function listenOn(address: ListenAddress, parts: HttpParts): Server<unknown> {
  return listening(
    address,
    () =>
      Bun.serve({
        hostname: address.host,
        port: address.port,
        maxRequestBodySize,
        idleTimeout: 120,
        // In production mode Bun shares the port by default: a second server would start and get half of the clients.
        reusePort: false,
        // Else the runtime answers what a handler throws with a page that shows the source and where it stands.
        development: false,
        error: (thrown) => thrownResponse(thrown, parts.log, crypto.randomUUID()),
        routes: parts.routes as never,
        fetch: parts.fetch as never,
        ...(parts.websocket ? { websocket: parts.websocket as never } : {}),
      }) as Server<unknown>,
  );
}

/** The runtime says that an address is taken, but not what to do about it. */
function listening({ host, port }: ListenAddress, listen: () => Server<unknown>): Server<unknown> {
  try {
    return listen();
  } catch (error) {
    const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    if (!isTaken) throw error;
    throw new Fault(
      "conflict",
      `Another program listens on ${host}:${port}. Stop it, or let Slipway listen elsewhere: PORT=${port + 1}, or server.listen in slipway.yaml.`,
      { cause: error },
    );
  }
}

/** Longest wait for requests in hand; one that streams without end must not hold the process. */
const finishWithinMs = 5_000;
const askEveryMs = 10;

/**
 * Takes no more connections, lets the requests in hand finish, then closes. Bun's own graceful stop also waits for idle
 * kept-alive connections, its other one cuts requests off; so we count.
 */
export async function stopServer(server: Server<unknown>): Promise<void> {
  void server.stop(false);
  const deadline = performance.now() + finishWithinMs;
  while (server.pendingRequests > 0 && performance.now() < deadline) await Bun.sleep(askEveryMs);
  await server.stop(true);
}
