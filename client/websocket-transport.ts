import { addressOf, type Transport } from "./transport.ts";

/** What the client needs of a WebSocket. */
export interface SocketLike {
  onmessage: Handler<{ data: unknown }> | null;
  onclose: Handler<{ code: number; reason: string }> | null;
  send(text: string): void;
  close(): void;
}

/** The type of a method, so that handlers of the browser's event types fit too. */
type Handler<E> = { handle(event: E): void }["handle"];

export type SocketClass = new (url: string, protocols: string[]) => SocketLike;

const protocols = ["slipway.v1"];
/** So long after a connection the network surely passes upgrades, and the clients of a gateway that restarts ask nothing. */
const surelyPassesMs = 30_000;
/** The next attempt waits for the explanation. */
const explainWithinMs = 2000;

/** Frames over a WebSocket. Without a class it uses the global one, also if that is defined later. */
export function webSocketTransport(socketClass?: SocketClass): Transport {
  let workedAt = 0;
  return {
    connect(request, events) {
      const Socket = socketClass ?? (globalThis.WebSocket as unknown as SocketClass);
      const socket = new Socket(addressOf(request, "ws"), protocols);
      let isOpen = false;
      socket.onmessage = ({ data }) => {
        isOpen = true;
        events.frame(String(data));
      };
      socket.onclose = ({ code, reason }) => {
        if (isOpen) workedAt = Date.now();
        // With 4000 and above the gateway has said why.
        if (code >= 4000 || Date.now() - workedAt < surelyPassesMs) events.closed(code, reason);
        else void explain(request.url, reason).then((end) => events.closed(...end));
      };
      return {
        transport: "websocket",
        send: (text) => socket.send(text),
        close: () => socket.close(),
      };
    },
  };
}

/**
 * Browsers hide why a handshake failed, so the gateway is asked with a plain request, whether it would accept one. By POST: a GET
 * may have no Origin header.
 */
async function explain(url: string, reason: string): Promise<[number, string, boolean]> {
  const answer = await globalThis
    .fetch?.(url.replace(/^ws/, "http"), {
      method: "POST",
      credentials: "omit",
      signal: AbortSignal.timeout(explainWithinMs),
    })
    .catch(() => null);
  const refusal = answer?.headers.get("x-push-refusal") ?? null;
  if (refusal === "40301")
    return [4002, "the gateway refuses pages of this origin (push.allowed-origins)", false];
  return [1006, reason, answer?.status === 426 && refusal === null];
}
