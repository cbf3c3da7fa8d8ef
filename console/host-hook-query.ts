import { queryOptions } from "@tanstack/react-query";
import { answerOf, api } from "./api.ts";

/** The webhook that was created at the Git host of a project. */
export function hostHookQuery(projectId: number) {
  return queryOptions({
    queryKey: ["host-hook", projectId],
    queryFn: () => answerOf(api.projects[":id"]["host-hook"].$get({ param: { id: projectId } })),
  });
}
