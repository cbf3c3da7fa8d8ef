import type { ActivityKind, ActivityOutcome } from "../src/model/console/activity.ts";
import { given } from "./address.ts";
import { type FilterWord, isTime } from "./filter-text.ts";
import type { ActivityRow } from "./shapes.ts";
import { t } from "./text/text.ts";

/** The filters of the list, as they are in the address bar. */
export const activityFilterNames = [
  "show",
  "projectId",
  "outcome",
  "trigger",
  "author",
  "code",
  "from",
  "to",
  "search",
] as const;
export type ActivityFilters = Record<(typeof activityFilterNames)[number], string>;

export const kinds: ActivityKind[] = ["changes", "stopped", "all"];
export const outcomes: ActivityOutcome[] = [
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
  "accepted",
  "merged",
  "ignored",
  "rejected",
];
export const triggers = ["webhook", "manual"] as const;

const labels: Readonly<Record<string, () => string>> = {
  ...Object.fromEntries(kinds.map((kind) => [kind, () => t(`activity.show_${kind}`)])),
  ...Object.fromEntries(outcomes.map((outcome) => [outcome, () => t(`state.${outcome}`)])),
  ...Object.fromEntries(triggers.map((trigger) => [trigger, () => t(`activity.trigger_${trigger}`)])),
};
const labelOf = (value: string) => labels[value]?.() ?? "";

/** What the filter text of the list knows, in the order in which it is written. */
export const activityWords: readonly FilterWord[] = [
  { word: "show", parameter: "show", label: () => t("activity.show"), values: kinds, labelOf },
  { word: "status", parameter: "outcome", label: () => t("activity.outcome"), values: outcomes, labelOf },
  { word: "project", parameter: "projectId", label: () => t("words.project") },
  { word: "trigger", parameter: "trigger", label: () => t("activity.trigger"), values: triggers, labelOf },
  { word: "author", parameter: "author", label: () => t("activity.author") },
  { word: "code", parameter: "code", label: () => t("activity.code") },
  { word: "from", parameter: "from", label: () => t("activity.from"), isTime: true },
  { word: "to", parameter: "to", label: () => t("activity.to"), isTime: true },
  { word: "search", parameter: "search", label: () => t("words.search"), isBare: true },
];

/** What a list without filters shows, and the part that the filters ask for; with a status, all are looked at. */
export function shownKind({ show, outcome }: Pick<ActivityFilters, "show" | "outcome">): ActivityKind {
  if (outcome !== "") return "all";
  return kinds.find((kind) => kind === show) ?? "changes";
}

type Code = NonNullable<ActivityRow["delivery"]>["code"];

/** The API's form of the filters: only what is set and can be asked, times in UTC. */
export function activityQueryOf(filters: ActivityFilters) {
  const { show, projectId, outcome, trigger, author, code, from, to, search } = filters;
  const kind = kinds.find((each) => each === show);
  const known = outcomes.find((each) => each === outcome);
  const knownTrigger = triggers.find((each) => each === trigger);
  return {
    ...given({ author, search }),
    ...(kind === undefined ? {} : { show: kind }),
    ...(known === undefined ? {} : { outcome: known }),
    ...(knownTrigger === undefined ? {} : { trigger: knownTrigger }),
    ...(code === "" ? {} : { code: code as Code }),
    ...(/^[1-9]\d{0,15}$/.test(projectId) ? { projectId: Number(projectId) } : {}),
    ...(isTime(from) ? { from: new Date(from).toISOString() } : {}),
    ...(isTime(to) ? { to: new Date(to).toISOString() } : {}),
  };
}

/** Tasks and deliveries were lists of their own: their filters by those of this list. */
const formerNames: Readonly<Record<string, (typeof activityFilterNames)[number]>> = {
  state: "outcome",
  status: "outcome",
  ref: "search",
};

/** The address of this list that shows what an address of a former one did. */
export function activityAddress(
  list: "tasks" | "deliveries",
  projectId: string | null,
  search: string,
): string {
  const former = new URLSearchParams(search);
  const delivery = former.get("delivery");
  if (delivery !== null) return `/deliveries/${encodeURIComponent(delivery)}`;
  former.delete("page");
  const now = new URLSearchParams();
  for (const [name, value] of former) {
    const branch = name === "ref" ? value.replace(/^refs\/(heads|tags)\//, "") : value;
    now.set(formerNames[name] ?? name, branch);
  }
  // The list of deliveries had those that started nothing too.
  if (list === "deliveries" && now.size > 0 && !now.has("outcome")) now.set("show", "all");
  const base = projectId === null ? "/activity" : `/projects/${projectId}/activity`;
  return now.size === 0 ? base : `${base}?${now}`;
}
