import type { Timeline } from "../timeline.ts";
import type { Disk } from "./disk.ts";
import type { Breakable, Instance, Part } from "./part.ts";

export const setupNames = ["sqlite", "postgres", "rabbitmq", "kafka"] as const;
export type SetupName = (typeof setupNames)[number];

/** Everything that runs for one set-up, and what its operator can do with it. */
export interface World {
  setup: SetupName;
  program: string;
  /** Throw-away folder of the run. */
  folder: string;
  timeline: Timeline;
  parts: Part[];
  /** Servers, or gateways where there are only those. */
  instances: Instance[];
  links: Breakable[];
  /** `tasks.lease` of the servers. */
  leaseMs: number;
  /** Small file system that holds the data of the server. */
  disk?: Disk;
  /** Credentials of remote runners. */
  runnerTokens: RunnerToken[];
  database?: DatabaseControl;
  broker?: BrokerControl;
  presenceEvents?: PresenceReader;
  stop(): Promise<void>;
}

export interface RunnerToken {
  part: Part;
  /** The old one is refused at once; the next start of the runner has the new one. */
  renew(): Promise<void>;
  setDisabled(isDisabled: boolean): Promise<void>;
}

export interface DatabaseControl {
  /** Ends all connections, or only those that hold advisory locks. */
  terminateBackends(which: "all" | "lock holders"): Promise<void>;
  revoke(): Promise<void>;
  grant(): Promise<void>;
}

export interface BrokerControl {
  revoke(): Promise<void>;
  grant(): Promise<void>;
  /** RabbitMQ: publishers are blocked. */
  raiseAlarm?(): Promise<void>;
  clearAlarm?(): Promise<void>;
  closeConnections?(): Promise<void>;
  /** Kafka: the broker that leads the partition of broadcasts. */
  leader?(): Promise<Part>;
}

/** Reads the topic of presence events as another service would. */
export interface PresenceReader {
  /** All that were written since the last call, oldest first. */
  readNew(): Promise<Record<string, unknown>[]>;
}
