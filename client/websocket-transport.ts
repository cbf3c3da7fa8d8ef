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

/** Frames over a WebSocket. Without a class it uses the global one, also if that is defined later. */
export function webSocketTransport(socketClass?: SocketClass): Transport {
  return {
    connect(request, { frame, closed }) {
      const Socket = socketClass ?? (globalThis.WebSocket as unknown as SocketClass);
      const socket = new Socket(addressOf(request, "ws"), protocols);
      socket.onmessage = ({ data }) => frame(String(data));
      socket.onclose = ({ code, reason }) => closed(code, reason);
      return {
        transport: "websocket",
        send: (text) => socket.send(text),
        close: () => socket.close(),
      };
    },

    /** By POST: a GET may have no Origin header. */
    async refusal(url) {
      const answer = await globalThis
        .fetch?.(url.replace(/^ws/, "http"), { method: "POST", credentials: "omit" })
        .catch(() => null);
      if (answer?.headers.get("x-push-refusal") !== "40301") return null;
      return { code: 4002, reason: "the gateway refuses pages of this origin (push.allowed-origins)" };
    },
  };
}
