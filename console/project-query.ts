import { queryOptions } from "@tanstack/react-query";
import type { InferRequestType } from "hono/client";
import { useAct } from "./act.ts";
import { answerOf, api } from "./api.ts";

export function projectQuery(id: number) {
  return queryOptions({
    queryKey: ["project", id],
    queryFn: () => answerOf(api.projects[":id"].$get({ param: { id } })),
  });
}

/** All that fit on one page of the API: enough for choices in forms and for names of projects. */
export const allProjectsQuery = queryOptions({
  queryKey: ["projects", "all"],
  queryFn: () => answerOf(api.projects.$get({ query: { pageSize: 200 } })),
  staleTime: 10_000,
});

export type ProjectChange = InferRequestType<(typeof api.projects)[":id"]["$patch"]>["json"];

export function useSaveProject(id: number) {
  return useAct((json: ProjectChange) => answerOf(api.projects[":id"].$patch({ param: { id }, json })), {
    done: "Saved.",
    refresh: ["project", "projects"],
  });
}
