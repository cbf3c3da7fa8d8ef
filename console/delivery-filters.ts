import { given } from "./address.ts";
import { type FilterWord, isTime } from "./filter-text.ts";
import type { DeliverySummary } from "./shapes.ts";
import { t } from "./text/text.ts";

export type DeliveryStatus = DeliverySummary["status"];

const statuses: DeliveryStatus[] = ["accepted", "merged", "ignored", "rejected", "failed"];

export function statusChoices(): { value: string; label: string }[] {
  return statuses.map((status) => ({ value: status, label: t(`state.${status}`) }));
}

/** The filters of the list, as they stand in the address bar. */
export const deliveryFilterNames = ["projectId", "status", "code", "from", "to", "search"] as const;
export type DeliveryFilters = Record<(typeof deliveryFilterNames)[number], string>;

/** What the filter text of the list knows, in the order in which it is written. */
export const deliveryWords: readonly FilterWord[] = [
  {
    word: "outcome",
    parameter: "status",
    label: () => t("deliveries.outcome"),
    values: statuses,
    labelOf: (value) => statusChoices().find((choice) => choice.value === value)?.label ?? "",
  },
  { word: "project", parameter: "projectId", label: () => t("words.project") },
  { word: "code", parameter: "code", label: () => t("deliveries.code") },
  { word: "from", parameter: "from", label: () => t("deliveries.from"), isTime: true },
  { word: "to", parameter: "to", label: () => t("deliveries.to"), isTime: true },
  { word: "search", parameter: "search", label: () => t("words.search"), isBare: true },
];

/** The API's form of the filters: only what is set and can be asked, times in UTC. */
export function filterOf({ projectId, status, code, from, to, search }: DeliveryFilters) {
  const known = statuses.find((each) => each === status);
  return {
    ...given({ search }),
    ...(known === undefined ? {} : { status: known }),
    ...(code === "" ? {} : { code: code as DeliverySummary["code"] }),
    ...(projectId === "" ? {} : { projectId: Number(projectId) }),
    ...(isTime(from) ? { from: new Date(from).toISOString() } : {}),
    ...(isTime(to) ? { to: new Date(to).toISOString() } : {}),
  };
}
