import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answerOf, api } from "./api.ts";
import { type DeliveryFilters, filterOf } from "./delivery-filters.ts";

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
