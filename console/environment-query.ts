import { queryOptions } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { useLocation } from "wouter";
import { useAct } from "./act.ts";
import { answerOf, api } from "./api.ts";
import { t } from "./text/text.ts";

export type EnvironmentState = InferResponseType<
  (typeof api.projects)[":id"]["environments"]["$get"],
  200
>["items"][number];

export interface PromotionPlaces {
  from: string;
  to: string;
}

export function environmentsQuery(projectId: number) {
  return queryOptions({
    queryKey: ["releases", projectId, "environments"],
    queryFn: () => answerOf(api.projects[":id"].environments.$get({ param: { id: projectId } })),
  });
}

/** What a promotion would change. */
export function promotionQuery(projectId: number, places: PromotionPlaces) {
  return queryOptions({
    queryKey: ["releases", projectId, "promotion", places],
    queryFn: () =>
      answerOf(api.projects[":id"].promotion.$get({ param: { id: projectId }, query: { ...places } })),
  });
}

/** Promotes what serves in one environment, and leads to the task that does it. */
export function usePromote(projectId: number) {
  const [, go] = useLocation();
  return useAct(
    async (places: PromotionPlaces) => {
      const task = await answerOf(
        api.projects[":id"].promote.$post({ param: { id: projectId }, json: places }),
      );
      go(`/tasks/${task.id}`);
      return task;
    },
    {
      done: (task) => t("environments.promoting", { id: String(task.id) }),
      failed: t("environments.promoteFailed"),
      refresh: ["activity", "project", "projects", "releases", "home"],
    },
  );
}
