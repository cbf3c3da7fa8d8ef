import type { ServerWebSocket } from "bun";
import { Inbox } from "./inbox.ts";

interface Attempt {
  query: URLSearchParams;
  protocol: string | null;
  /** An HTTP status refuses the handshake. */
  answer: (status: number | "accept") => void;
}

/** A gateway that does only what the steps of a case say. It also issues the codes. */
export class ScriptedServer {
  readonly attempts = new Inbox<Attempt>();
  readonly texts = new Inbox<string>();
  /** One entry for each connection that has ended. */
  readonly ends = new Inbox<true>();
  /** One entry for each request for a code. */
  readonly codeRequests = new Inbox<number>();
  readonly #codes: (string | number | null)[];
  readonly #server: Bun.Server<undefined>;
  #issued = 0;
  #asked = 0;
  #socket = Promise.withResolvers<ServerWebSocket<undefined>>();

  constructor(codes: (string | number | null)[]) {
    this.#codes = [...codes];
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request, server) => this.#answer(request, server),
      websocket: {
        open: (socket) => this.#socket.resolve(socket),
        message: (_socket, text) => this.texts.put(String(text)),
        close: () => this.ends.put(true),
      },
    });
  }

  /** Addresses for the adapter. */
  get addresses(): { url: string; codeUrl: string } {
    const { origin, host } = this.#server.url;
    return { url: `ws://${host}/ws`, codeUrl: `${origin}/code` };
  }

  /** Accepts the next handshake, and returns what it asked for. */
  async accept(): Promise<Attempt> {
    const attempt = await this.attempts.take();
    this.#socket = Promise.withResolvers();
    attempt.answer("accept");
    await this.#socket.promise;
    return attempt;
  }

  async refuse(status: number): Promise<void> {
    (await this.attempts.take()).answer(status);
  }

  async send(text: string): Promise<void> {
    (await this.#socket.promise).send(text);
  }

  /** 1006 is no code that can be sent: the connection is cut. */
  async close(code: number, reason: string): Promise<void> {
    const socket = await this.#socket.promise;
    if (code === 1006) socket.terminate();
    else socket.close(code, reason);
    await this.ends.take();
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  async #answer(request: Request, server: Bun.Server<undefined>): Promise<Response | undefined> {
    const { pathname, searchParams: query } = new URL(request.url);
    if (pathname === "/code") return this.#issueCode();
    if (request.method !== "GET") return new Response("not an upgrade", { status: 426 });
    const { promise, resolve } = Promise.withResolvers<number | "accept">();
    this.attempts.put({ query, protocol: request.headers.get("sec-websocket-protocol"), answer: resolve });
    const answer = await promise;
    if (answer !== "accept") return new Response("refused", { status: answer });
    server.upgrade(request, { headers: { "Sec-WebSocket-Protocol": "slipway.v1" } });
  }

  #issueCode(): Response {
    this.codeRequests.put(++this.#asked);
    const next = this.#codes.length > 0 ? this.#codes.shift() : `code-${++this.#issued}`;
    if (next === null) return new Response(null, { status: 204 });
    return typeof next === "number" ? new Response("no", { status: next }) : new Response(next);
  }
}
