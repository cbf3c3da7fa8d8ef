import { queryOptions } from "@tanstack/react-query";
import type { InferRequestType } from "hono/client";
import { useAct } from "./act.ts";
import { answerOf, api, queryClient } from "./api.ts";

export function webhookQuery(projectId: number) {
  return queryOptions({
    queryKey: ["webhook", projectId],
    queryFn: () => answerOf(api.projects[":id"].webhook.$get({ param: { id: projectId } })),
  });
}

export type WebhookChange = InferRequestType<(typeof api.projects)[":id"]["webhook"]["$put"]>["json"];

export function useSaveWebhook(projectId: number, done = "Saved.") {
  return useAct(
    async (json: WebhookChange) => {
      const saved = await answerOf(api.projects[":id"].webhook.$put({ param: { id: projectId }, json }));
      queryClient.setQueryData(webhookQuery(projectId).queryKey, saved);
      return saved;
    },
    { done, refresh: ["webhook"] },
  );
}
