import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { given } from "./address.ts";
import { answerOf, api } from "./api.ts";
import type { DeliverySummary } from "./shapes.ts";
import { t } from "./text/text.ts";

export type DeliveryStatus = DeliverySummary["status"];

const statuses: DeliveryStatus[] = ["accepted", "merged", "ignored", "rejected", "failed"];

export function statusChoices(): { value: string; label: string }[] {
  return statuses.map((status) => ({ value: status, label: t(`state.${status}`) }));
}

/** The filters of the list, as they stand in the address bar. */
export const filterNames = ["projectId", "status", "code", "from", "to", "search"] as const;
export type DeliveryFilters = Record<(typeof filterNames)[number], string>;

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

/** Whether it is what a field for date and time gives; the address bar holds whatever somebody typed. */
function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text));
}

export function deliveriesQuery(filters: DeliveryFilters, page: number) {
  return queryOptions({
    queryKey: ["deliveries", filters, page],
    queryFn: () =>
      answerOf(api.webhooks.deliveries.$get({ query: { page, pageSize: 25, ...filterOf(filters) } })),
    placeholderData: keepPreviousData,
  });
}

export function deliveryQuery(id: number) {
  return queryOptions({
    queryKey: ["delivery", id],
    queryFn: () => answerOf(api.webhooks.deliveries[":id"].$get({ param: { id } })),
  });
}
