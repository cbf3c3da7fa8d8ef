import type { Random } from "../random.ts";
import type { Instance } from "../setups/part.ts";
import { type ClientIdentity, ClientRecord } from "./client-record.ts";
import type { LoadClient } from "./resuming-client.ts";

const heartbeatMs = 2_000;
const silenceLimitMs = 6_000;

/** A plain WebSocket that reconnects when it is lost or silent, as a page without the client library does. */
export function rawClient(identity: ClientIdentity, instances: Instance[], random: Random): LoadClient {
  const record = new ClientRecord(identity, "raw");
  let socket: WebSocket | null = null;
  let isWanted = false;
  let heardAt = 0;

  function connect(): void {
    if (!isWanted) return;
    const instance = random.pick(instances);
    const address = new URL(`${instance.front.replace("http", "ws")}/ws`);
    address.searchParams.set("code", identity.userId);
    if (identity.isTemporary) address.searchParams.set("temp", "1");
    for (const channel of identity.channels) address.searchParams.append("channel", channel);
    const own = new WebSocket(address);
    socket = own;
    heardAt = performance.now();
    own.onopen = () => {
      if (socket === own) record.opened(instance.part.name, false, false);
    };
    own.onmessage = ({ data }) => {
      if (socket !== own) return;
      heardAt = performance.now();
      record.message(String(data), null);
    };
    own.onclose = ({ code }) => lost(own, code);
    own.onerror = () => {};
  }

  function lost(own: WebSocket, code: number): void {
    if (socket !== own) return;
    socket = null;
    record.closed(code);
    setTimeout(connect, random.between(200, 800));
  }

  setInterval(() => {
    if (!socket) return;
    const own = socket;
    if (performance.now() - heardAt > silenceLimitMs) {
      lost(own, 4201);
      own.close();
    } else if (own.readyState === WebSocket.OPEN) own.send("ping");
  }, heartbeatMs).unref();

  return {
    record,
    get isWanted() {
      return isWanted;
    },
    get state() {
      return socket === null ? "waiting" : `ready state ${socket.readyState}`;
    },
    open() {
      if (isWanted) return;
      isWanted = true;
      connect();
    },
    close() {
      isWanted = false;
      const own = socket;
      socket = null;
      record.closed(1000);
      own?.close();
    },
  };
}
