import type { Log } from "./log.ts";

/** Topics that only other services read. */
export type ExternalTopic = "client" | "events";

export interface BusState {
  /** True only while this instance reads both logs up to their end and can append. */
  ready: boolean;
  /** True while not ready only because the broker refuses records of this instance: all records arrive. */
  isReceiving?: boolean;
  /** For operators: "reading push.broadcast", "connection refused, next try in 2 s". */
  detail: string;
}

/** The logs that instances share, and the topics for other services, over one connection to a broker. */
export interface Bus {
  /** For operators: "local", "workers", "rabbitmq", "kafka". */
  readonly name: string;
  /** Whether the logs are shared with other instances. */
  readonly isCluster: boolean;
  readonly broadcast: Log;
  readonly control: Log;
  /** Resolves once the broker has confirmed. Rejects like `Log.append`. Order is kept per key. */
  publish(topic: ExternalTopic, key: string, message: { id: string }): Promise<void>;
  /** Connects and stays connected; returns at once. */
  start(): void;
  state(): BusState;
  onStateChange(listener: (state: BusState) => void): void;
  /** Waits for the appends and publishes in flight, then disconnects. */
  close(): Promise<void>;
}
