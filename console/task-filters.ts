import { given } from "./address.ts";
import type { Task } from "./shapes.ts";

/** The filters of the list, as they are in the address bar. */
export const taskFilterNames = ["projectId", "state", "trigger", "ref", "author", "from", "to"] as const;
export type TaskFilters = Record<(typeof taskFilterNames)[number], string>;

export const taskStates: Task["state"][] = [
  "queued",
  "dispatched",
  "running",
  "canceling",
  "waiting",
  "success",
  "failed",
  "canceled",
  "timeout",
  "lost",
];

/** The form of the API: only filters that are set and valid, whole refs, times in UTC. */
export function taskQueryOf({ projectId, state, trigger, ref, author, from, to }: TaskFilters) {
  const known = taskStates.find((each) => each === state);
  return {
    ...given({ author }),
    ...(known === undefined ? {} : { state: known }),
    ...(trigger === "webhook" || trigger === "manual" ? ({ trigger } as const) : {}),
    ...(ref === "" ? {} : { ref: ref.startsWith("refs/") ? ref : `refs/heads/${ref}` }),
    ...(/^[1-9]\d{0,15}$/.test(projectId) ? { projectId: Number(projectId) } : {}),
    ...(isTime(from) ? { from: new Date(from).toISOString() } : {}),
    ...(isTime(to) ? { to: new Date(to).toISOString() } : {}),
  };
}

/** Whether it is the value of a field for date and time; the address bar may contain anything. */
function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text));
}
