import type { DecidedTask } from "../view/system-line.ts";
import type { TaskEvents } from "./task-events.ts";

/**
 * Announces a decision about a task that no runner has any more: it waits for a person, is queued or has ended. `requeued` is the
 * event for a task that is queued again because its runner has lost its lease.
 */
export function announceDecided(
  events: TaskEvents,
  { task, line, calls }: DecidedTask,
  whenQueued: "changed" | "requeued" = "changed",
): void {
  if (line) events.logged(task, [line]);
  if (task.state === "waiting") events.waiting(task);
  else if (task.state === "queued") events[whenQueued](task);
  else events.finished(task);
  events.send(calls);
}
