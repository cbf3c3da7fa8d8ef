import { queryOptions } from "@tanstack/react-query";
import { answerOf, api } from "./api.ts";

/** The last deliveries of a project. */
export function deliveriesQuery(projectId: number) {
  return queryOptions({
    queryKey: ["activity", "deliveries", projectId],
    queryFn: () => answerOf(api.webhooks.deliveries.$get({ query: { projectId, pageSize: 25 } })),
  });
}

export function deliveryQuery(id: number) {
  return queryOptions({
    queryKey: ["delivery", id],
    queryFn: () => answerOf(api.webhooks.deliveries[":id"].$get({ param: { id } })),
  });
}
