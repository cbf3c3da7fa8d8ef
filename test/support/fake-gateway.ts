import type { ServerWebSocket } from "bun";

type Send = (frame: Record<string, unknown>) => void;

/** A gateway that the tests of the client control completely. */
export interface FakeGateway {
  url: string;
  /** Query of each handshake, in order. */
  handshakes: URLSearchParams[];
  onConnect: (send: Send) => void;
  refuse: boolean;
  refuseChannel: string | null;
  /** Does not answer heartbeats. */
  mute: boolean;
  /** How many are open. */
  connections(): number;
  /** To all, or to the members of a channel. */
  publish(id: string, data: string, channel?: string): void;
  closeAll(code: number, reason?: string): void;
  /** Resolves when the next text equal to this one arrives. */
  received(text: string): Promise<void>;
  close(): void;
}

export function startFakeGateway(): FakeGateway {
  const sockets = new Set<ServerWebSocket<undefined>>();
  const waiting = new Map<string, () => void>();
  const server = Bun.serve({
    port: 0,
    fetch(request, bun) {
      gateway.handshakes.push(new URL(request.url).searchParams);
      if (gateway.refuse) return new Response("full", { status: 503 });
      const isUpgraded = bun.upgrade(request, { headers: { "Sec-WebSocket-Protocol": "slipway.v1" } });
      return isUpgraded ? undefined : new Response("not an upgrade", { status: 426 });
    },
    websocket: {
      open(socket) {
        sockets.add(socket);
        gateway.onConnect((frame) => socket.send(JSON.stringify(frame)));
      },
      message(socket, text) {
        answer(socket, String(text));
      },
      close(socket) {
        sockets.delete(socket);
      },
    },
  });
  function answer(socket: ServerWebSocket<undefined>, text: string): void {
    waiting.get(text)?.();
    waiting.delete(text);
    if (text === "ping") {
      if (!gateway.mute) socket.send("ping");
      return;
    }
    const frame = JSON.parse(text) as { type: string; channel: string };
    const { channel } = frame;
    if (frame.type === "join" && channel === gateway.refuseChannel) {
      socket.send(
        JSON.stringify({ type: "error", code: "channel_refused", message: "not granted", channel }),
      );
    } else if (frame.type === "join") socket.send(JSON.stringify({ type: "joined", channel }));
    else if (frame.type === "leave") socket.send(JSON.stringify({ type: "left", channel }));
  }
  const gateway: FakeGateway = {
    url: `${server.url.origin}/ws`,
    handshakes: [],
    onConnect: (send) => send({ type: "welcome", connectionId: "1", userId: "ann", recovered: false }),
    refuse: false,
    refuseChannel: null,
    mute: false,
    connections: () => sockets.size,
    publish(id, data, channel) {
      const to =
        channel === undefined
          ? { targetType: "all", target: "" }
          : { targetType: "channel", target: channel };
      const frame = JSON.stringify({ type: "message", id, ...to, data, ts: 0 });
      for (const socket of sockets) socket.send(frame);
    },
    closeAll(code, reason) {
      for (const socket of sockets) socket.close(code, reason);
    },
    received: (text) => new Promise((resolve) => waiting.set(text, resolve)),
    close: () => void server.stop(true),
  };
  return gateway;
}
