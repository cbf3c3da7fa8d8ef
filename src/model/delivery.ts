import { z } from "zod";
import { eventNames, normalizedEvent } from "../git-host/delivery/event.ts";
import { providerNames } from "../git-host/hosts.ts";
import { reasonSchema } from "../reason/schema-forms.ts";
import type { Page, PageRequest } from "./page.ts";
import type { HandledTip, RefTip } from "./ref-tip.ts";
import type { InQueue, NewTask, Task, TaskState } from "./task.ts";

export type { NormalizedEvent, RefChange } from "../git-host/delivery/event.ts";

export const deliveryStatuses = ["accepted", "merged", "ignored", "rejected", "failed"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** The outcome for programs; `reason` is its text for people. */
export const deliveryCodes = [
  "accepted",
  "endpoint_not_found",
  "webhook_disabled",
  "signature_invalid",
  "body_too_large",
  "rate_limited",
  "lock_timeout",
  "invalid_payload",
  "internal_error",
  "probe",
  "ref_deleted",
  "event_not_allowed",
  "branch_not_matched",
  "tag_not_matched",
  "path_not_matched",
  "skip_keyword",
  "debounced",
  "queue_busy",
  "ref_invalid",
  "fork_not_allowed",
  "repository_mismatch",
  "duplicate",
] as const;
export type DeliveryCode = (typeof deliveryCodes)[number];

/** Refusals that the limit per minute does not count: they create no work for the project. */
export const uncountedCodes: readonly DeliveryCode[] = [
  "rate_limited",
  "lock_timeout",
  "signature_invalid",
  "endpoint_not_found",
  "webhook_disabled",
  "body_too_large",
];

/** Codes of deliveries that may have ended before their signature was verified. */
export const unverifiedCodes: readonly DeliveryCode[] = [
  ...uncountedCodes.filter((code) => code !== "signature_invalid"),
  "invalid_payload",
  "internal_error",
];

/** Codes of deliveries that count as `unlisted`. */
export const unlistedCodes: readonly DeliveryCode[] = ["event_not_allowed", "probe", "ref_deleted"];

/** One step of the decision: what it looked at, what it compared with, what came out. */
export const traceStep = z.object({
  step: z.string(),
  result: z.enum(["pass", "stop", "unknown", "skipped"]),
  /** Value the step saw. */
  value: z.string(),
  /** Pattern or limit it was compared with. */
  pattern: z.string(),
  detail: reasonSchema,
});
export type TraceStep = z.infer<typeof traceStep>;
export type TraceResult = TraceStep["result"];

const none = z.literal("");

/** The fields of a record that lists show: those of the specification, then our additions. */
export const deliverySummary = z.object({
  id: z.number().int(),
  project_id: z.number().int(),
  project_name: z.string(),
  provider: z.union([z.enum(providerNames), none]),
  event: z.union([z.enum(eventNames), none]),
  ref: z.string(),
  ref_type: z.union([z.enum(["branch", "tag"]), none]),
  commit: z.string(),
  commit_message: z.string(),
  author: z.string(),
  status: z.enum(deliveryStatuses),
  reason: reasonSchema,
  task_id: z.number().int(),
  remote_ip: z.string(),
  created_at: z.date(),
  code: z.enum(deliveryCodes),
  http_status: z.number().int(),
  /** Number of deliveries that flood protection counted in this record, itself included. */
  count: z.number().int(),
  host_delivery_id: z.string(),
  /** Id of the first delivery with the same host_delivery_id, when this is a repeat. */
  repeat_of: z.number().int().nullable(),
  replay_of: z.number().int().nullable(),
  merged_into_task_id: z.number().int().nullable(),
  replaced_by: z.number().int().nullable().meta({
    description: "The delivery that took over its task within the debounce window and is built instead.",
  }),
  environment: z.string().meta({
    description: "The environment of the project that takes the ref; empty: none, or the project has none.",
  }),
  /** Project that owned the key before a reset; shown to admins only. */
  former_project_id: z.number().int().nullable(),
});
export type DeliverySummary = z.infer<typeof deliverySummary>;

export const deliverySchema = deliverySummary.extend({
  body: z.string(),
  headers: z.record(z.string(), z.string()),
  normalized: normalizedEvent.nullable(),
  trace: z.array(traceStep),
});
export type Delivery = z.infer<typeof deliverySchema>;

/** The response body of the specification, and `code`. The texts are rendered when it is sent. */
export const deliveryAnswer = z.object({
  deliveryId: z.number().int(),
  taskId: z.number().int().optional(),
  mergedIntoTaskId: z.number().int().optional(),
  status: z.enum(deliveryStatuses),
  reason: reasonSchema,
  message: reasonSchema,
  queued: z.boolean(),
  queuePosition: z.number().int().optional(),
  code: z.enum(deliveryCodes),
});
export type DeliveryAnswer = z.infer<typeof deliveryAnswer>;

/** What follows from other records, and is not stored with a delivery. */
export type Followed = "replaced_by" | "environment";

export type NewDelivery = Omit<Delivery, "id" | "repeat_of" | Followed>;

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
  /** Only those of a sender whose signature was verified, whatever the result. */
  wasVerified?: true;
}

/** Deliveries of events that a project listens to, and all others: each bucket has the whole limit per minute. */
export type RateBucket = "listed" | "unlisted";

/** What a decision asks about the latest work of a project. */
export interface RecentQuery {
  projectId: number;
  /** The project, or the environment of it, that would get the task. */
  placeId: number;
  now: Date;
  /** The bucket of the rate that is counted, from `since` on. */
  counted: { bucket: RateBucket; since: Date };
  /** The debounce window that began after `since`; with a full ref, only the window that a push of this ref opened. */
  window: { since: Date; rawRef: string | null };
  /** The full ref of the push; its last task is wanted if it was created after `since`. */
  pushed: { rawRef: string; since: Date };
  /** A task that would join the end of the queue; null: what delays it is not wanted. */
  queued: Pick<InQueue, "priority" | "notBefore"> | null;
}

/** The latest work of a project. Later records, from before a clock was set back, are left out. */
export interface RecentWork {
  /** Live deliveries that count against the rate. */
  counted: { count: number; oldest: Date | null };
  /** Task of the newest accepted live delivery inside the window; its state is null when it was deleted. */
  windowTask: (Pick<Task, "id" | "source"> & { state: TaskState | null }) | null;
  /** The first unfinished task. */
  unfinished: { id: number; state: TaskState } | null;
  /** The last task that a push of the same ref asked for. */
  sameRef: SameRefTask | null;
  /** The stored tip of the pushed ref. */
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
  recent(request: RecentQuery): Promise<RecentWork>;
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
