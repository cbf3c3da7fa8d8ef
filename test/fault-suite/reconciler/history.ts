/** What the load recorded in one round. All times are milliseconds of `elapsedMs()`. */
export interface History {
  /** When the round began. */
  from: number;
  faults: FaultWindow[];
  messages: PublishedMessage[];
  clients: ClientHistory[];
  presence: PresenceView[];
  /** Null: no other service can read events. */
  presenceEvents: PresenceEvent[] | null;
  deliveries: Delivery[];
  projects: DeployProject[];
  tasks: TaskView[];
  scriptLines: ScriptLine[];
  logs: TaskLog[];
  liveLines: LiveLogLine[];
  notifications: Notification[];
  /** Tasks of earlier rounds whose notification was still waiting for another try. */
  owedTasks: TaskView[];
  /** Notifications that a server still holds for another try. */
  waitingNotifications: number;
  /** The records of deliveries of the projects, also of those that polls made. */
  records: DeliveryRecord[];
  /** The last push to each branch; empty: the servers do not poll. */
  tips: PushedTip[];
  services: ServiceView[];
}

export interface FaultWindow {
  kind: string;
  target: string;
  from: number;
  /** When every part was ready again. */
  to: number;
  /** Instances that may not be able to read their log. */
  unreadable: string[];
  /** Whether the log of an instance without a broker cannot be kept. */
  breaksLogFile: boolean;
  /** Runners lived and reached their server. */
  sparesRunners: boolean;
}

export type TargetType = "all" | "user" | "temp_user" | "channel";

/** One logical message; with a key it may have been sent several times. */
export interface PublishedMessage {
  /** Rises within a target in the order of publishing. */
  number: number;
  targetType: TargetType;
  target: string;
  key: string | null;
  attempts: PublishAttempt[];
}

export interface PublishAttempt {
  gateway: string;
  sentAt: number;
  endedAt: number;
  /** 0: no response. */
  status: number;
  /** `X-Push-Id` of a 200. */
  id: string | null;
}

export interface ClientHistory {
  name: string;
  protocol: "raw" | "slipway.v1";
  userId: string;
  channels: string[];
  isTemporary: boolean;
  /** Numbers of messages that it received in earlier rounds. */
  receivedBefore: ReadonlySet<number>;
  events: ClientEvent[];
}

export type ClientEvent =
  | { type: "open"; at: number; gateway: string; recovered: boolean; resumedFrom: TakenPosition | null }
  /** As received, before the client drops duplicate ids. */
  | { type: "message"; at: number; number: number; id: string | null; isRepeatedId: boolean }
  | { type: "close"; at: number; code: number };

/** A position with which a client resumes. */
export interface TakenPosition {
  /** When the client received it. */
  at: number;
  /** The message that it came with; null: another frame. */
  number: number | null;
}

export interface PresenceView {
  instance: string;
  online: string[];
  expected: string[];
}

export interface PresenceEvent {
  id: string;
  userId: string;
  type: "online" | "offline";
  /** The instance that wrote it, and the time by its clock. */
  node: string;
  ts: number;
}

export interface DeployProject {
  id: number;
  name: string;
  debounceMs: number;
  debounceScope: "project" | "ref";
  /** Null: build and deploy only. Otherwise each release also replaces a service. */
  release: ReleaseRules | null;
}

export interface ReleaseRules {
  /** With a fixed port the service before ends first; with one that the runner chooses, both run during the switch. */
  port: "fixed" | "chosen";
  needsApproval: boolean;
}

/** What a release project serves when all is quiet. */
export interface ServiceView {
  projectId: number;
  /** The commit that the port answers; null: no answer. */
  served: string | null;
  /** The commit of the task that `liveTaskId` names. */
  live: string | null;
  liveNote: string;
  /** Services that are alive now. */
  running: number;
  /** What was seen of it during the round. */
  moments: ServiceMoment[];
}

export interface ServiceMoment {
  at: number;
  /** Whether a deploy of it has succeeded, so that it must answer. */
  isOwed: boolean;
  /** Whether it answers its users. */
  isServed: boolean;
  /** The state that its page shows; null: no server answers, or there is none yet. */
  shown: string | null;
}

export interface DeliveryRecord {
  projectId: number;
  commit: string;
  taskId: number | null;
  isPoll: boolean;
}

export interface PushedTip {
  projectId: number;
  ref: string;
  commit: string;
}

export interface Delivery {
  projectId: number;
  ref: string;
  commit: string;
  sentAt: number;
  endedAt: number;
  /** 0: no response. */
  status: number;
  code: string;
  deliveryId: number | null;
  /** The task that it created or was merged into. */
  taskId: number | null;
  /** After settling: whether the record of the delivery was found. */
  isRecorded: boolean;
}

export interface TaskView {
  id: number;
  projectId: number;
  state: string;
  reason: string;
  commit: string;
  /** A commit whose service does not start. */
  isBroken: boolean;
  attempt: number;
  createdAt: number;
  finishedAt: number;
}

/**
 * `approved`: the suite is about to approve the task. Of a service, `serving`: it answers; `stopping`: it has received SIGTERM;
 * `second-copy`: it could not take its lock.
 */
export const scriptEvents = [
  "start",
  "beat",
  "end",
  "switching",
  "switched",
  "serving",
  "stopping",
  "second-copy",
  "approved",
] as const;

/** A line that a script appended to the shared record, in the order of the file. */
export interface ScriptLine {
  event: (typeof scriptEvents)[number];
  projectId: number;
  taskId: number;
  attempt: number;
  stage: string;
  commit: string;
  /** An automatic rollback: the line carries the task of the release that returns. */
  isRollback: boolean;
}

export interface TaskLog {
  taskId: number;
  lines: { index: number; text: string }[];
}

export interface LiveLogLine {
  taskId: number;
  index: number;
  text: string;
}

export interface Notification {
  webhookId: string;
  type: string;
  taskId: number;
}

export function emptyHistory(): History {
  return {
    from: 0,
    faults: [],
    messages: [],
    clients: [],
    presence: [],
    presenceEvents: null,
    deliveries: [],
    projects: [],
    tasks: [],
    scriptLines: [],
    logs: [],
    liveLines: [],
    notifications: [],
    owedTasks: [],
    waitingNotifications: 0,
    records: [],
    tips: [],
    services: [],
  };
}
