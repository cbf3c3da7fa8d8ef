import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { join } from "node:path";

export interface LoadTarget {
  domain: string;
  httpPort: number;
  /** With the certificate of its authority; null: no HTTP/2. */
  https: { port: number; authority: string } | null;
}

export interface LoadResult {
  sent: number;
  failures: Failure[];
  /** When each request was sent, in milliseconds since 1970, and how many milliseconds it took. */
  durations: { sentAt: number; ms: number }[];
}

/** A request that was not answered with 200, with what came instead. */
export interface Failure {
  request: string;
  came: string;
  /** Milliseconds since 1970. */
  sentAt: number;
  endedAt: number;
}

/** Sends one request and gives its status, and rejects if the connection ends without an answer. */
type Send = (method: string, body: string) => Promise<number>;

const kept = 8;

/** Requests at a steady rate over kept and new connections, HTTP/1.1 and HTTP/2, GET and POST, until it is ended. */
export function startLoad(target: LoadTarget, perSecond: number) {
  const connections = Array.from({ length: kept }, () => keptConnection(target));
  const secure = target.https === null ? null : http2Connection(target.domain, target.https);
  const senders: Send[] = [
    ...connections.map(({ send }) => send),
    newConnection(target),
    newConnection(target),
    ...(secure === null ? [] : [secure.send, secure.send]),
  ];
  const result: LoadResult = { sent: 0, failures: [], durations: [] };
  const open = new Set<Promise<void>>();
  const everyMs = 1000 / perSecond;
  const beganAt = performance.now();

  async function one(send: Send, index: number): Promise<void> {
    const startedAt = performance.now();
    const isPost = index % 3 === 0;
    const sentAt = Date.now();
    const request = `${isPost ? "POST" : "GET"} ${index}`;
    const fail = (came: string) => result.failures.push({ request, came, sentAt, endedAt: Date.now() });
    try {
      const status = await send(isPost ? "POST" : "GET", isPost ? "x".repeat(1 + (index % 5000)) : "");
      if (status !== 200) fail(String(status));
    } catch (error) {
      fail(String(error));
    }
    result.durations.push({ sentAt, ms: performance.now() - startedAt });
  }

  const timer = setInterval(() => {
    while (result.sent * everyMs < performance.now() - beganAt) {
      const send = senders[result.sent % senders.length];
      if (send === undefined) return;
      const done: Promise<void> = one(send, result.sent).finally(() => open.delete(done));
      open.add(done);
      result.sent += 1;
    }
  }, 5);

  return {
    /** Waits for all answers. */
    async end(): Promise<LoadResult> {
      clearInterval(timer);
      await Promise.all(open);
      for (const connection of connections) connection.close();
      secure?.close();
      return result;
    },
  };
}

/** The same in a process of its own. */
export function startLoadProcess(target: LoadTarget, perSecond: number) {
  const given = JSON.stringify({ target, perSecond });
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "request-load-process.ts"), given], {
    stdin: "pipe",
    stdout: "pipe",
  });
  return {
    async end(): Promise<LoadResult> {
      await child.stdin.end();
      return JSON.parse(await new Response(child.stdout).text()) as LoadResult;
    },
  };
}

/** One connection that is never opened again: if the proxy closes it, all its later requests fail. */
function keptConnection({ domain, httpPort }: LoadTarget): { send: Send; close(): void } {
  let socket: Socket | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  let answer = Promise.withResolvers<number>();
  // The connection may end while nobody waits.
  answer.promise.catch(() => {});
  let text = "";

  function opened(): Socket {
    if (socket !== null) return socket;
    socket = connect(httpPort, "127.0.0.1");
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
      if (text.length < end + 4 + length) return;
      const status = Number(text.slice(9, 12));
      text = text.slice(end + 4 + length);
      answer.resolve(status);
    });
    const lost = () => answer.reject(new Error("the kept connection was closed"));
    socket.on("close", lost);
    socket.on("error", lost);
    return socket;
  }

  const ask = (method: string, body: string): Promise<number> => {
    answer = Promise.withResolvers();
    answer.promise.catch(() => {});
    if (socket?.destroyed) return Promise.reject(new Error("the kept connection is closed"));
    const head = `${method} / HTTP/1.1\r\nHost: ${domain}\r\nContent-Length: ${body.length}\r\n\r\n`;
    opened().write(head + body);
    return answer.promise;
  };
  return {
    send(method, body) {
      const result = turn.then(() => ask(method, body));
      turn = result.catch(() => {});
      return result;
    },
    close: () => void socket?.destroy(),
  };
}

function newConnection({ domain, httpPort }: LoadTarget): Send {
  return async (method, body) => {
    const response = await fetch(`http://127.0.0.1:${httpPort}/`, {
      method,
      headers: { Host: domain },
      ...(method === "POST" ? { body } : {}),
      keepalive: false,
    });
    await response.arrayBuffer();
    return response.status;
  };
}

function http2Connection(domain: string, https: NonNullable<LoadTarget["https"]>) {
  const session: ClientHttp2Session = connectHttp2(`https://${domain}:${https.port}`, {
    host: "127.0.0.1",
    servername: domain,
    ca: https.authority,
    lookup: (
      _name: string,
      _options: object,
      found: (error: null, address: string, family: number) => void,
    ) => found(null, "127.0.0.1", 4),
  } as object);
  session.on("error", () => {});
  const send: Send = (method, body) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const stream = session.request({ ":method": method, ":path": "/" });
    let status = 0;
    stream.on("response", (headers) => {
      status = Number(headers[":status"]);
    });
    stream.on("error", reject);
    stream.on("close", () => (status === 0 ? reject(new Error("the stream was closed")) : resolve(status)));
    stream.resume();
    stream.end(body === "" ? undefined : body);
    return promise;
  };
  return { send, close: () => session.destroy() };
}
