import { SlipwayPush } from "../../../client/slipway-push.ts";
import { webSocketTransport } from "../../../client/websocket-transport.ts";
import type { Random } from "../random.ts";
import type { Instance } from "../setups/part.ts";
import { type ClientIdentity, ClientRecord } from "./client-record.ts";

/** A client that can be closed and opened again; each connection goes to a chosen instance. */
export interface LoadClient {
  readonly record: ClientRecord;
  readonly isWanted: boolean;
  /** Why the client is not connected, as a readable text. */
  readonly state: string;
  open(): void;
  close(): void;
  /** Loses the connection of a client that resumes. */
  drop?(): void;
}

/** The client of the product over `slipway.v1`, which resumes from its position after each lost connection. */
export function resumingClient(identity: ClientIdentity, instances: Instance[], random: Random): LoadClient {
  const record = new ClientRecord(identity, "slipway.v1");
  let current: WebSocket | null = null;
  let isWanted = false;

  /** Chooses the instance, and records the frames as they arrive. */
  class RecordedSocket extends WebSocket {
    constructor(url: string, protocols: string[]) {
      const instance = random.pick(instances);
      const address = new URL(url);
      address.host = new URL(instance.front).host;
      const { position } = record;
      if (position !== null) address.searchParams.set("resume", position);
      super(address.href, protocols);
      current = this;
      this.addEventListener("message", (event) => {
        if (current === this && typeof event.data === "string")
          take(event.data, instance.part.name, position !== null);
      });
      this.addEventListener("close", (event) => {
        if (current === this) record.closed(event.code);
      });
    }
  }

  function take(text: string, gateway: string, isResumed: boolean): void {
    if (!text.startsWith("{")) return;
    const frame = JSON.parse(text) as Record<string, unknown>;
    if (frame.type === "welcome") {
      record.opened(gateway, frame.recovered === true, isResumed);
      if (frame.recovered !== true) record.tookPosition(String(frame.lastId));
    } else if (frame.type === "message")
      // An earlier version resumes with ids.
      record.message(String(frame.data), String(frame.id), String(frame.position ?? frame.id));
    else if (frame.type === "position") record.tookPosition(String(frame.lastId));
  }

  const push = new SlipwayPush({
    url: "ws://127.0.0.1:1/ws",
    code: () => identity.userId,
    temporary: identity.isTemporary,
    channels: identity.channels,
    minDelayMs: 200,
    maxDelayMs: 1_500,
    connectTimeoutMs: 5_000,
    heartbeatIntervalMs: 2_000,
    heartbeatTimeoutMs: 4_000,
    random: () => random.next(),
    transport: webSocketTransport(RecordedSocket),
  });
  push.on("status", ({ state, closeCode }) => {
    if (state === "open") return;
    record.closed(closeCode ?? 1006);
    current = null;
    // A stopping gateway may refuse permanently; the application signs in again.
    if (state === "closed" && isWanted) setTimeout(() => isWanted && push.open(), 500);
  });
  return {
    record,
    get isWanted() {
      return isWanted;
    },
    get state() {
      return `${push.status.state}, ${push.status.reason}`;
    },
    open() {
      isWanted = true;
      push.open();
    },
    close() {
      isWanted = false;
      push.close();
    },
    drop() {
      if (record.isOpen) current?.close();
    },
  };
}
