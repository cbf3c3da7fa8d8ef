import { entryOfTask, type NewAuditEntry } from "../../model/audit.ts";
import type { AddedCall } from "../../model/outgoing-call.ts";
import type { OperationKeepers } from "../../model/store.ts";
import { type Enqueued, enqueueTask, type TaskOrder } from "../queue/enqueue.ts";
import { reportEnqueued } from "./report-task.ts";

export interface AuditedOrder {
  order: TaskOrder;
  consoleUrl: string;
  audited: NewAuditEntry;
}

export interface EnqueuedCalls {
  enqueued: Enqueued;
  calls: AddedCall[];
}

/** Puts a task into the queue with its audit entry and its messages, inside the caller's transaction. */
export async function enqueueReported(
  keepers: OperationKeepers,
  { order, consoleUrl, audited }: AuditedOrder,
): Promise<EnqueuedCalls> {
  const enqueued = await enqueueTask(keepers, order, keepers.now());
  await keepers.audit.add(entryOfTask(audited, enqueued.task));
  return { enqueued, calls: await reportEnqueued(keepers, enqueued, consoleUrl, enqueued) };
}
