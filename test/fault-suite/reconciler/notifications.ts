import type { History } from "./history.ts";
import { type Violation, violation } from "./violation.ts";

const eventOfState: Record<string, string> = {
  success: "task.succeeded",
  failed: "task.failed",
  canceled: "task.canceled",
  timeout: "task.timeout",
  lost: "task.lost",
};

export function checkNotifications({
  tasks,
  owedTasks,
  notifications,
  waitingNotifications,
}: History): Violation[] {
  const byTask = Map.groupBy(notifications, ({ taskId }) => taskId);
  return [...owedTasks, ...tasks].flatMap((task) => {
    const type = eventOfState[task.state];
    if (type === undefined) return [];
    const received = (byTask.get(task.id) ?? []).filter((notification) => notification.type === type);
    // A notification that waits for its next attempt is not lost; the next round checks it again.
    if (received.length === 0)
      return waitingNotifications > 0
        ? []
        : [violation("notification-lost", `${type} of task ${task.id} was never received`)];
    const ids = new Set(received.map(({ webhookId }) => webhookId));
    return ids.size === 1
      ? []
      : [violation("notification-repeated", `${type} of task ${task.id} came as ${[...ids].join(", ")}`)];
  });
}
