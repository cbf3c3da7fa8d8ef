import type { RunningService } from "../../model/service/running-service.ts";
import type { ServiceState } from "../../model/service/service.ts";

/** So long it serves without an exit until people are notified that it is up again. */
export const upAfterMs = 30_000;

export type ServiceEvent = "service.down" | "service.up";

type Judged = Pick<RunningService, "downSince" | "recoveringSince"> & { event: ServiceEvent | null };

const badStates: readonly ServiceState[] = ["unhealthy", "restarting", "down"];
const nothing: Judged = { downSince: null, recoveringSince: null, event: null };

/**
 * Whether people must be notified of a report. They are notified once when a service ends or fails its check, and once when it
 * serves again: a crash loop is one message. What a person stopped is not down.
 */
export function judge(known: RunningService | undefined, now: RunningService): Judged {
  const downSince = known?.downSince ?? null;
  if (now.state === "stopped") return nothing;
  if (badStates.includes(now.state) || hasEndedSince(known, now))
    return {
      downSince: downSince ?? now.reportedAt,
      recoveringSince: null,
      event: downSince === null ? "service.down" : null,
    };
  if (downSince === null) return nothing;
  if (now.state !== "serving") return { downSince, recoveringSince: null, event: null };
  const recoveringSince = known?.recoveringSince ?? now.reportedAt;
  if (now.reportedAt.getTime() - recoveringSince.getTime() >= upAfterMs)
    return { ...nothing, event: "service.up" };
  return { downSince, recoveringSince, event: null };
}

/** It may have ended and serve again since the last report. What happened while its release was deployed is part of that task. */
function hasEndedSince(known: RunningService | undefined, now: RunningService): boolean {
  return known?.taskId === now.taskId && lastExitAt(now) > lastExitAt(known);
}

function lastExitAt({ exits }: RunningService): number {
  const last = exits.at(-1);
  return last === undefined ? 0 : Date.parse(last);
}
