import type { Violation } from "../reconciler/violation.ts";
import type { Timeline } from "../timeline.ts";
import type { Disk } from "./disk.ts";
import type { Breakable, Instance, Part } from "./part.ts";

export const setupNames = ["sqlite", "postgres", "workers", "rabbitmq", "kafka"] as const;
export type SetupName = (typeof setupNames)[number];

/** Steps of a release that a fault can hit. */
export const stepNames = ["stop", "switch", "rollback", "approval", "poll"] as const;
export type StepName = (typeof stepNames)[number];

/** The running parts of one set-up, and the actions of its operator. */
export interface World {
  setup: SetupName;
  program: string;
  /** Temporary folder of the run. */
  folder: string;
  timeline: Timeline;
  parts: Part[];
  /** Servers; in a set-up without servers, gateways. */
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
  /** Whether the program has services, polls and approvals: an earlier version has not. */
  knowsReleases: boolean;
  /** The steps that the load reaches. */
  steps: StepName[];
  /** The services that the load deploys. */
  services: LoadService[];
  stop(): Promise<void>;
}

/** A service of the load, as faults reach it. */
export interface LoadService {
  /** Of its project. */
  readonly name: string;
  /** From then on something must serve. */
  readonly hasServed: boolean;
  pids(): number[];
  keepers(): number[];
  /** The runner that keeps it; undefined: none does. */
  runner(): string | undefined;
  /** Whether it answers within the limit. */
  serves(limitMs: number): Promise<boolean>;
  /** As a person does by the API; waits for the end. */
  act(action: "start" | "stop" | "restart"): Promise<Violation[]>;
}

export interface RunnerToken {
  part: Part;
  /** The old credential is refused at once; the runner has the new one after its next start. */
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
  /** The events since the last call, oldest first. */
  readNew(): Promise<Record<string, unknown>[]>;
}
