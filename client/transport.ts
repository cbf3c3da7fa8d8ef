/**
 * How frames of `slipway.v1` travel. A transport knows addresses and sockets; reconnects, resume, heartbeats and codes
 * are the client's. A transport may use another transport when it fails.
 */
export interface Transport {
  /** Starts one attempt. An attempt that cannot be started throws. */
  connect(request: ConnectRequest, events: LinkEvents): Link;
}

export interface ConnectRequest {
  /** As the application wrote it. */
  url: string;
  /** Code, channels and position, encoded; without a question mark. */
  query: string;
  /** The query of another connection of the same user, with a new code; null: there is none. */
  renew(): Promise<string | null>;
}

/** What an attempt reports. The client ignores reports of an attempt that it has given up. */
export interface LinkEvents {
  /** A text frame: JSON, or the heartbeat text. */
  frame(text: string): void;
  /** The attempt or the connection has ended. `isUpgradeRefused`: the gateway serves, and did not get the upgrade. */
  closed(code: number, reason: string, isUpgradeRefused?: boolean): void;
}

/** One attempt, and the connection that it becomes. */
export interface Link {
  /** `websocket`, `sse`, or another name that the event `open` passes on. */
  readonly transport: string;
  send(text: string): void;
  close(): void;
}

/** The address with this query. If the address has a query, this one is appended to it. */
export function addressOf(
  { url, query }: Pick<ConnectRequest, "url" | "query">,
  scheme: "ws" | "http",
): string {
  const address = url.replace(/^(ws|http)/, scheme);
  return `${address}${address.includes("?") ? "&" : "?"}${query}`;
}
