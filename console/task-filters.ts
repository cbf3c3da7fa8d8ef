import { given } from "./address.ts";
import { type FilterWord, isTime } from "./filter-text.ts";
import type { Task } from "./shapes.ts";
import { t } from "./text/text.ts";

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

export const taskTriggers = ["webhook", "manual"] as const;

const labels: Readonly<Record<string, () => string>> = {
  ...Object.fromEntries(taskStates.map((state) => [state, () => t(`state.${state}`)])),
  ...Object.fromEntries(taskTriggers.map((trigger) => [trigger, () => t(`tasks.trigger_${trigger}`)])),
};
const labelOf = (value: string) => labels[value]?.() ?? "";

/** What the filter text of the list knows, in the order in which it is written. */
export const taskWords: readonly FilterWord[] = [
  { word: "state", parameter: "state", label: () => t("tasks.state"), values: taskStates, labelOf },
  { word: "project", parameter: "projectId", label: () => t("tasks.project") },
  { word: "trigger", parameter: "trigger", label: () => t("tasks.trigger"), values: taskTriggers, labelOf },
  { word: "author", parameter: "author", label: () => t("tasks.author") },
  { word: "from", parameter: "from", label: () => t("tasks.from"), isTime: true },
  { word: "to", parameter: "to", label: () => t("tasks.to"), isTime: true },
  {
    word: "branch",
    parameter: "ref",
    label: () => t("tasks.ref"),
    isBare: true,
    shorten: (ref) => ref.replace(/^refs\/heads\//, ""),
  },
];

/** The form of the API: only filters that are set and valid, whole refs, times in UTC. */
export function taskQueryOf({ projectId, state, trigger, ref, author, from, to }: TaskFilters) {
  const known = taskStates.find((each) => each === state);
  const knownTrigger = taskTriggers.find((each) => each === trigger);
  return {
    ...given({ author }),
    ...(known === undefined ? {} : { state: known }),
    ...(knownTrigger === undefined ? {} : { trigger: knownTrigger }),
    ...(ref === "" ? {} : { ref: ref.startsWith("refs/") ? ref : `refs/heads/${ref}` }),
    ...(/^[1-9]\d{0,15}$/.test(projectId) ? { projectId: Number(projectId) } : {}),
    ...(isTime(from) ? { from: new Date(from).toISOString() } : {}),
    ...(isTime(to) ? { to: new Date(to).toISOString() } : {}),
  };
}
