import { newReason } from "../../reason/reason.ts";
import { type Decision, type PassedDelivery, traceOn } from "./delivery.ts";

/** Filter step 6: with queuePolicy skip, a project with an unfinished task accepts no further one. */
export function applyQueuePolicy({ kind, config, state, ...delivery }: PassedDelivery): Decision | null {
  const { queuePolicy } = config;
  const trace = traceOn(delivery.trace);
  if (queuePolicy === "always") {
    trace.add("queue", "pass", "", queuePolicy, newReason("queue_open"));
    return null;
  }
  const busy = state.unfinished;
  if (busy === null) {
    trace.add("queue", "pass", "", queuePolicy, newReason("queue_free"));
    return null;
  }
  const reason = newReason("queue_busy", { task: busy.id, state: busy.state });
  trace.add(
    "queue",
    kind.queuePolicy === "shown" ? "unknown" : "stop",
    `task ${busy.id}`,
    queuePolicy,
    reason,
  );
  return kind.queuePolicy === "shown" ? null : { outcome: { code: "queue_busy", reason } };
}
