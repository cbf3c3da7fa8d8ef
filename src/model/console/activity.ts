import { type DeliveryCode, type DeliverySummary, deliveryStatuses } from "../delivery.ts";
import { type Task, taskStates } from "../task.ts";

/**
 * `changes`: what led to a task or failed on the way, and tasks that no delivery asked for. `stopped`: deliveries that led to
 * no task.
 */
export const activityKinds = ["changes", "stopped", "all"] as const;
export type ActivityKind = (typeof activityKinds)[number];

/** How far something got: the state of its task; without one, the status of its delivery. */
export const activityOutcomes = [...new Set([...taskStates, ...deliveryStatuses])];
export type ActivityOutcome = (typeof activityOutcomes)[number];

/** One row: a delivery with the task that it led to, or a task that no kept delivery asked for. */
export type Activity = {
  at: Date;
} & (
  | {
      delivery: DeliverySummary;
      /** Its own task or the one that it was merged into; null: none, or it was deleted. */
      task: Task | null;
      /** The task builds the commit of this delivery, and not that of another one. */
      isBuilt: boolean;
    }
  | { delivery: null; task: Task; isBuilt: true }
);

/** A position in the list: by time, then deliveries before tasks, then by id. */
export interface ActivityPlace {
  at: Date;
  kind: "delivery" | "task";
  id: number;
}

export interface ActivityFilter {
  show: ActivityKind;
  outcome?: ActivityOutcome;
  projectId?: number;
  groupId?: number;
  code?: DeliveryCode;
  trigger?: Task["triggerType"];
  author?: string;
  /** A ref or the host's delivery id, exactly; a commit, or at least seven of its first digits. */
  search?: string;
  from?: Date;
  to?: Date;
  visibleProjectIds?: number[];
}

export interface ActivityKeeper {
  /** Newest first, after `place`. */
  list(filter: ActivityFilter, place: ActivityPlace | null, limit: number): Promise<Activity[]>;
}
