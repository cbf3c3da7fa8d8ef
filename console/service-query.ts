import { useQuery } from "@tanstack/react-query";
import { useAct } from "./act.ts";
import { answerOf, api } from "./api.ts";
import { usePolling } from "./live.ts";
import { t } from "./text/text.ts";

/** The live connection tells changes of states; figures of memory and CPU are asked for, as often as runners report them. */
const figuresMs = 10_000;

export function useRefreshed(): number {
  return usePolling() || figuresMs;
}

export function useServices(projectId: number, enabled = true) {
  return useQuery({
    queryKey: ["services", projectId],
    queryFn: () => answerOf(api.projects[":id"].services.$get({ param: { id: projectId } })),
    refetchInterval: useRefreshed(),
    enabled,
  });
}

export type ServiceActionName = "start" | "stop" | "restart";

/** Starts, stops or restarts a service by a task, which it gives. */
export function useServiceAction(projectId: number, name: string, action: ServiceActionName) {
  const path = api.projects[":id"].services[":name"];
  return useAct(() => answerOf(path[action].$post({ param: { id: projectId, name } })), {
    done: (task) => t(`services.${action}Done`, { id: String(task.id), name }),
    failed: t(`services.${action}Failed`),
    refresh: ["services", "activity", "project"],
  });
}
