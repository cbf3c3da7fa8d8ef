import { EventStream } from "./event-stream.ts";
import { Inbox } from "./inbox.ts";

interface Attempt {
  transport: "websocket" | "sse";
  query: URLSearchParams;
  protocol: string | null;
  answer: (answer: Refusal | "accept") => void;
}

/** A status, and the code of a refusal of the gateway itself; without one it is that of a proxy. */
export interface Refusal {
  status: number;
  refusal?: number;
}

/** The open connection of either kind. */
interface Connection {
  send(text: string): unknown;
  close(code: number, reason: string): unknown;
  /** Cuts it without a word. */
  terminate(): unknown;
}

/** A gateway that does only what the steps of a case say. It also issues the codes. */
export class ScriptedServer {
  readonly attempts = new Inbox<Attempt>();
  readonly texts = new Inbox<string>();
  /** One entry for each connection that has ended. */
  readonly ends = new Inbox<true>();
  /** One entry for each request for a code. */
  readonly codeRequests = new Inbox<number>();
  /** Of the connection that was accepted last. */
  transport: Attempt["transport"] = "websocket";
  /** The answer to plain requests to `/ws`. */
  plainAnswer: Refusal = { status: 426 };
  readonly #codes: (string | number | null)[];
  readonly #server: Bun.Server<undefined>;
  #issued = 0;
  #asked = 0;
  #connection = Promise.withResolvers<Connection>();

  constructor(codes: (string | number | null)[]) {
    this.#codes = [...codes];
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request, server) => this.#answer(request, server),
      websocket: {
        open: (socket) => this.#connection.resolve(socket),
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
    this.#connection = Promise.withResolvers();
    this.transport = attempt.transport;
    attempt.answer("accept");
    await this.#connection.promise;
    return attempt;
  }

  async refuse(refusal: Refusal): Promise<Attempt> {
    const attempt = await this.attempts.take();
    attempt.answer(refusal);
    return attempt;
  }

  async send(text: string): Promise<void> {
    (await this.#connection.promise).send(text);
  }

  /** 1006 is no code that can be sent: the connection is cut. */
  async close(code: number, reason: string): Promise<void> {
    const connection = await this.#connection.promise;
    if (code === 1006) connection.terminate();
    else connection.close(code, reason);
    await this.ends.take();
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  async #answer(request: Request, server: Bun.Server<undefined>): Promise<Response | undefined> {
    const { pathname, searchParams: query } = new URL(request.url);
    if (pathname === "/code") return this.#issueCode();
    const transport = pathname === "/sse" ? "sse" : "websocket";
    if (request.method !== "GET") return this.#answerPost(request, transport);
    server.timeout(request, 0);
    const { promise, resolve } = Promise.withResolvers<Refusal | "accept">();
    const protocol = request.headers.get("sec-websocket-protocol");
    this.attempts.put({ transport, query, protocol, answer: resolve });
    const answer = await promise;
    if (answer !== "accept") return refusalResponse(answer);
    if (transport === "sse") return this.#openStream();
    if (server.upgrade(request, { headers: { "Sec-WebSocket-Protocol": "slipway.v1" } })) return undefined;
    return new Response("not an upgrade", { status: 426 });
  }

  /** A frame of an event stream, or the question whether an upgrade would be refused. */
  async #answerPost(request: Request, transport: string): Promise<Response> {
    if (transport === "websocket") return refusalResponse(this.plainAnswer);
    this.texts.put(await request.text());
    return new Response(null, { status: 204 });
  }

  #openStream(): Response {
    const stream = new EventStream(() => this.ends.put(true));
    this.#connection.resolve(stream);
    return new Response(stream.body, { headers: { "content-type": "text/event-stream" } });
  }

  #issueCode(): Response {
    this.codeRequests.put(++this.#asked);
    const next = this.#codes.length > 0 ? this.#codes.shift() : `code-${++this.#issued}`;
    if (next === null) return new Response(null, { status: 204 });
    return typeof next === "number" ? new Response("no", { status: next }) : new Response(next);
  }
}

function refusalResponse({ status, refusal }: Refusal): Response {
  const headers: Record<string, string> = refusal === undefined ? {} : { "x-push-refusal": String(refusal) };
  return new Response("refused", { status, headers });
}
