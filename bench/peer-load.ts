import { type LoadGenerator, startGenerator } from "./load-process.ts";

/** How a client subscribes to a server's one channel, and how a message gets there. */
export interface PeerDialect {
  /** Host and port of the WebSocket. */
  address: string;
  /** Path and query of the upgrade; `{n}` is replaced by the number of the connection. */
  path: string;
  protocol?: string;
  /** The text that subscribes, sent as one frame after the upgrade, with `{n}` as in `path`; null: the upgrade subscribes. */
  hello: { text: string; isBinary: boolean } | null;
  /** The subscription is complete when a text with this in it arrived; null: with the upgrade. */
  welcome: string | null;
  /** `http`: one POST per message. `nats`: PUB and PING, answered by PONG, on a plain connection. */
  publish:
    | { kind: "http"; address: string; path: string; contentType: string; body: string }
    | { kind: "nats"; address: string; body: string };
}

/** Each message contains this byte once; arrivals are counted by it. */
export const messageMark = "~";

export type PeerOrder =
  | { type: "hold"; dialect: PeerDialect; count: number; atOnce: number }
  | { type: "release" }
  /** Bursts of `burst` messages, each after the one before has arrived everywhere. */
  | { type: "bursts"; dialect: PeerDialect; bursts: number; burst: number }
  /** `publishers` publish as fast as they are answered, `messages` in all. */
  | { type: "flood"; dialect: PeerDialect; messages: number; publishers: number };

export interface PeerResult {
  /** Connections opened or deliveries seen. */
  count: number;
  seconds: number;
  /** From each burst's first byte to its last arrival. */
  latenciesMs: number[];
  error?: string;
}

export function startPeerLoad(): LoadGenerator<PeerOrder, PeerResult> {
  return startGenerator("load/peer-worker.ts");
}
