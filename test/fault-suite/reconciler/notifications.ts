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
  const ended = [...owedTasks, ...tasks].flatMap(({ id, state }) => {
    const type = eventOfState[state];
    const received = (byTask.get(id) ?? []).filter((notification) => notification.type === type);
    const ids = new Set(received.map(({ webhookId }) => webhookId));
    return type === undefined ? [] : [{ what: `${type} of task ${id}`, ids: [...ids] }];
  });
  const missing = ended.filter(({ ids }) => ids.length === 0);
  const repeated = ended.filter(({ ids }) => ids.length > 1);
  return [
    // A notification that waits for its next attempt is not lost; the next round checks it again.
    ...missing
      .slice(waitingNotifications)
      .map(({ what }) => violation("notification-lost", `${what} was never received`)),
    ...repeated.map(({ what, ids }) =>
      violation("notification-repeated", `${what} came as ${ids.join(", ")}`),
    ),
  ];
}
