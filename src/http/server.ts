import { isIP } from "node:net";
import type { Server, WebSocketHandler } from "bun";
import { Fault } from "../errors.ts";
import type { ListenAddress } from "../listen-address.ts";
import type { Logger } from "../logger.ts";
import { thrownResponse } from "./respond.ts";
import { afterUnreadBody } from "./unread-body.ts";

export type Handler = (
  request: Request,
  server: Server<unknown>,
) => Response | undefined | Promise<Response | undefined>;

/** Exact paths and `:name` or `/*` patterns, matched natively before `fetch` is called. */
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

function endingUnreadBodies(handler: Handler): Handler {
  return (request, server) => {
    const answer = handler(request, server);
    // The handler reads the body itself.
    if (request.bodyUsed) return answer;
    return answer instanceof Promise
      ? answer.then((response) => afterUnreadBody(request, response))
      : afterUnreadBody(request, answer);
  };
}

function mapHandlers(routes: Routes, change: (handler: Handler) => Handler): Routes {
  return Object.fromEntries(
    Object.entries(routes).map(([path, route]) => [
      path,
      typeof route === "function"
        ? change(route)
        : Object.fromEntries(Object.entries(route).map(([method, handler]) => [method, change(handler)])),
    ]),
  );
}

export interface HttpParts {
  routes: Routes;
  /** Answers requests that match no route. */
  fetch: Handler;
  websocket?: WebSocketHandler<never>;
  /** Whether other processes of this instance listen on the same port. */
  sharesPort?: boolean;
  log: Logger;
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
        // By default Bun shares the port in production mode: a second server would start and get half of the clients.
        reusePort: parts.sharesPort ?? false,
        // Otherwise the runtime answers an exception with a page that shows source code and paths.
        development: false,
        error: (thrown) => thrownResponse(thrown, parts.log, crypto.randomUUID()),
        routes: mapHandlers(parts.routes, endingUnreadBodies) as never,
        fetch: endingUnreadBodies(parts.fetch) as never,
        ...(parts.websocket ? { websocket: parts.websocket as never } : {}),
      }) as Server<unknown>,
  );
}

/** Adds to the error of an address that cannot be used what to do about it. */
function listening({ host, port }: ListenAddress, listen: () => Server<unknown>): Server<unknown> {
  try {
    return listen();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    // For a name that it cannot resolve, the runtime throws the code of some earlier error.
    const problem = listenProblems[code] ?? (isIP(host) === 0 ? noAddress : undefined);
    if (problem === undefined) throw error;
    throw new Fault("conflict", problem(host, port), { cause: error });
  }
}

const noAddress = (host: string) =>
  `${host} is no address of this machine. Set server.listen in slipway.yaml to one of its addresses, or to 0.0.0.0 for all of them.`;

const listenProblems: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) =>
    `Another program listens on ${host}:${port}. Stop it, or let Slipway listen elsewhere: PORT=${port + 1}, or server.listen in slipway.yaml.`,
  EADDRNOTAVAIL: noAddress,
  EACCES: (host, port) =>
    `This user may not listen on ${host}:${port}: ports below 1024 need root or CAP_NET_BIND_SERVICE. Let Slipway listen elsewhere: PORT=8080, or server.listen in slipway.yaml.`,
};

/** Longest wait for open requests, because a stream may never end. */
const finishWithinMs = 5_000;
const pollEveryMs = 10;

/**
 * Accepts no more connections, waits for open requests, then closes. Bun's graceful stop also waits for idle keep-alive
 * connections, and its other stop aborts requests, so neither is enough.
 */
export async function stopServer(server: Server<unknown>): Promise<void> {
  void server.stop(false);
  const deadline = performance.now() + finishWithinMs;
  while (server.pendingRequests > 0 && performance.now() < deadline) await Bun.sleep(pollEveryMs);
  await server.stop(true);
}
