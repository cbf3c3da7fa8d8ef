import { checkDeliveries } from "./deliveries.ts";
import type { History } from "./history.ts";
import { checkLogs } from "./logs.ts";
import { checkMessages } from "./messages.ts";
import { checkNotifications } from "./notifications.ts";
import { checkPresence } from "./presence.ts";
import { checkPublishes } from "./publishes.ts";
import { checkReleases } from "./releases.ts";
import { checkResumes } from "./resumes.ts";
import { checkServices } from "./services.ts";
import { checkTasks } from "./tasks.ts";
import type { Violation } from "./violation.ts";

/** Compares what was acknowledged with what happened. */
export function reconcile(history: History): Violation[] {
  return [
    ...checkPublishes(history),
    ...checkMessages(history),
    ...checkResumes(history),
    ...checkPresence(history),
    ...checkDeliveries(history),
    ...checkTasks(history),
    ...checkReleases(history),
    ...checkServices(history),
    ...checkLogs(history),
    ...checkNotifications(history),
  ];
}
