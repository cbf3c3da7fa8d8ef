import type { NormalizedEvent } from "../git-host/delivery/event.ts";
import type { ProviderName } from "../git-host/hosts.ts";
import type { Reason } from "../reason/reason.ts";
import type { Page, PageRequest } from "./page.ts";
import type { Project } from "./project.ts";
import type { HandledTip, RefTip } from "./ref-tip.ts";
import type { InQueue, NewTask, Task, TaskState } from "./task.ts";
import type { EventName } from "./webhook-config.ts";

export type { NormalizedEvent, RefChange } from "../git-host/delivery/event.ts";

export const deliveryStatuses = ["accepted", "merged", "ignored", "rejected", "failed"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** The outcome for programs; `reason` is its text for people. */
export type DeliveryCode =
  | "accepted"
  | "endpoint_not_found"
  | "webhook_disabled"
  | "signature_invalid"
  | "body_too_large"
  | "rate_limited"
  | "lock_timeout"
  | "invalid_payload"
  | "internal_error"
  | "probe"
  | "ref_deleted"
  | "event_not_allowed"
  | "branch_not_matched"
  | "tag_not_matched"
  | "path_not_matched"
  | "skip_keyword"
  | "debounced"
  | "queue_busy"
  | "ref_invalid"
  | "fork_not_allowed"
  | "repository_mismatch"
  | "duplicate";

/** Refusals that the limit per minute does not count: they create no work for the project. */
export const uncountedCodes: readonly DeliveryCode[] = [
  "rate_limited",
  "lock_timeout",
  "signature_invalid",
  "endpoint_not_found",
  "webhook_disabled",
  "body_too_large",
];

/** Codes of deliveries that count as `unlisted`. */
export const unlistedCodes: readonly DeliveryCode[] = ["event_not_allowed", "probe", "ref_deleted"];

export type TraceResult = "pass" | "stop" | "unknown" | "skipped";

/** One step of the decision: what it looked at, what it compared with, what came out. */
export interface TraceStep {
  step: string;
  result: TraceResult;
  /** Value the step saw. */
  value: string;
  /** Pattern or limit it was compared with. */
  pattern: string;
  detail: Reason;
}

/** The delivery record: the fields of the specification, then our additions. */
export interface Delivery {
  id: number;
  project_id: number;
  project_name: string;
  provider: ProviderName | "";
  event: EventName | "";
  ref: string;
  ref_type: "branch" | "tag" | "";
  commit: string;
  commit_message: string;
  author: string;
  status: DeliveryStatus;
  reason: Reason;
  task_id: number;
  remote_ip: string;
  body: string;
  created_at: Date;
  code: DeliveryCode;
  http_status: number;
  /** Number of deliveries that flood protection counted in this record, itself included. */
  count: number;
  host_delivery_id: string;
  /** Id of the first delivery with the same host_delivery_id, when this is a repeat. */
  repeat_of: number | null;
  replay_of: number | null;
  merged_into_task_id: number | null;
  /** Id of the delivery that took over its task within the debounce window; its ref and commit are built instead. */
  replaced_by: number | null;
  /** Project that owned the key before a reset; shown to admins only. */
  former_project_id: number | null;
  headers: Record<string, string>;
  normalized: NormalizedEvent | null;
  trace: TraceStep[];
}

export type NewDelivery = Omit<Delivery, "id" | "repeat_of" | "replaced_by">;

/** The fields that lists show. */
export type DeliverySummary = Omit<Delivery, "body" | "normalized" | "trace" | "headers">;

export type ScannedDelivery = Pick<
  Delivery,
  "id" | "created_at" | "project_id" | "code" | "remote_ip" | "normalized"
>;

export type DeliveryReplay = Pick<Delivery, "id" | "status" | "created_at">;

/** A position in the order of all lists: by time, then by id. */
export type DeliveryPlace = Pick<Delivery, "created_at" | "id">;

export interface DeliveryFilter {
  projectId?: number;
  groupId?: number;
  status?: DeliveryStatus;
  code?: DeliveryCode;
  from?: Date;
  to?: Date;
  /** Host's delivery id or ref, exact; a commit, or at least seven of its first digits. */
  search?: string;
  /** Projects the caller may view; absent for admins, who also see project 0. */
  visibleProjectIds?: number[];
}

/** Deliveries of events that a project listens to, and all others: each bucket has the whole limit per minute. */
export type RateBucket = "listed" | "unlisted";

/** What the decision about a delivery has to know of its project. Parts that are null are not looked up. */
export interface ProjectStateQuery {
  projectId: number;
  now: Date;
  /** Live deliveries after `since` that count against a bucket of the rate, at most `limit`. */
  counted: { bucket: RateBucket; since: Date; limit: number } | null;
  /** The debounce window that began after `since`; with a full ref, only the window that a push of this ref opened. */
  window: { since: Date; rawRef: string | null } | null;
  /** The pushed ref whose last task is wanted, if it was created after `since`. */
  pushed: { rawRef: string; since: Date } | null;
  /** The ref whose tip is wanted; absent: none. */
  tipOf?: string | null;
  /** Whether the first unfinished task is wanted. */
  unfinished: boolean;
  /** A task that would join the end of the queue. */
  queued: Pick<InQueue, "priority" | "notBefore"> | null;
}

/** The state of a project at one moment. Later records, from before a clock was set back, are left out. */
export interface ProjectState {
  project: Project;
  /** Whether a token for commit statuses is stored. */
  hasStatusToken: boolean;
  /** The default notification target as it is stored; null: there is none. */
  defaultTarget: string | null;
  /** The version of the webhook configuration; null: there is none. */
  configUpdatedAt: Date | null;
  /** `oldest` is the oldest of the newest `limit`. */
  counted: { count: number; oldest: Date | null };
  /** Task of the newest accepted live delivery inside the window; its state is null when it was deleted. */
  windowTask: (Pick<Task, "id" | "source"> & { state: TaskState | null }) | null;
  unfinished: { id: number; state: TaskState } | null;
  /** The last task that a push of the same ref asked for. */
  sameRef: SameRefTask | null;
  tip: Pick<RefTip, "commit" | "polledTaskId"> | null;
  queue: QueueState | null;
}

export type SameRefTask = Pick<
  Task,
  "id" | "state" | "commit" | "causeRef" | "causeCommit" | "actions" | "source"
>;

/** What delays a task at the end of the queue. */
export interface QueueState {
  /** Tasks of its own project that must start before it. */
  own: number;
  /** Other projects whose first task must start before it; none that is busy, because this task would overtake it. */
  others: number;
  /** Tasks of its project that are with a runner. */
  heldOwn: number;
  /** Tasks of all projects that are with a runner. */
  held: number;
  /** How many tasks the connected runners can run at a time. */
  capacity: number;
}

export interface DeliveryKeeper {
  /** Returns the id. `tip`: the tip of a ref that the delivery handles. */
  create(delivery: NewDelivery, tip?: HandledTip | null): Promise<number>;
  /** Creates a delivery and its task; each stores the id of the other. Throws "not_found" if the project is gone. */
  createWithTask(
    delivery: NewDelivery,
    task: NewTask,
    tip?: HandledTip | null,
  ): Promise<{ id: number; task: Task }>;
  byId(id: number): Promise<Delivery | null>;
  /** Replays of a delivery, newest first. */
  replaysOf(id: number, limit: number): Promise<DeliveryReplay[]>;
  /** What the decision about a delivery has to know; null when the project is gone. */
  projectState(request: ProjectStateQuery): Promise<ProjectState | null>;
  list(filter: DeliveryFilter, page: PageRequest): Promise<Page<DeliverySummary>>;
  /** Complete records after `place`, newest first; `limit` is at most 200. */
  latest(filter: DeliveryFilter, limit: number, place?: DeliveryPlace | null): Promise<Delivery[]>;
  /** Records after `place`, newest first, without the fields that only one record is shown with. */
  scan(filter: DeliveryFilter, place: DeliveryPlace | null, limit: number): Promise<ScannedDelivery[]>;
  /** The ids of deliveries whose ref has a newer delivery that was accepted, was merged, or deleted the ref. */
  overtaken(ids: readonly number[]): Promise<number[]>;
  /** Id of the delivery whose ref and commit a task builds: the last delivery that took it over, or its creator. */
  builtBy(task: Pick<Task, "id" | "deliveryId">): Promise<number | null>;
  /** Records that another delivery took over a delivery's task. */
  replace(deliveryId: number, by: number, taskId: number): Promise<void>;
  /** Adds to the count of a flood record; false if the record was deleted. */
  addToCount(id: number, more: number): Promise<boolean>;
  countByStatus(filter: {
    visibleProjectIds?: number[];
    from: Date;
    to: Date;
    bucketSeconds: number;
  }): Promise<{ bucketStart: Date; status: DeliveryStatus; count: number }[]>;
  /** Deletes at most `limit` records of a project; returns the number. */
  deleteOfProject(projectId: number, limit: number): Promise<number>;
  /** Deletes at most `limit` records older than `before`; returns the number. */
  deleteOlderThan(before: Date, limit: number): Promise<number>;
}
