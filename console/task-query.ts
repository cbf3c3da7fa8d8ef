import { queryOptions } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { useAct } from "./act.ts";
import { answerOf, api } from "./api.ts";
import { shortRef } from "./time-text.ts";

export function taskQuery(id: number) {
  return queryOptions({
    queryKey: ["task", id],
    queryFn: () => answerOf(api.tasks[":id"].$get({ param: { id } })),
  });
}

/** Tasks that wait for an approval. The key is part of `tasks`, so that live events refresh it. */
export const waitingTasksQuery = queryOptions({
  queryKey: ["tasks", "waiting"],
  queryFn: () => answerOf(api.tasks.$get({ query: { state: "waiting", pageSize: "5" } })),
  refetchInterval: 60_000,
});

export interface RunOrder {
  ref?: string;
  commit?: string;
}

/** Runs a project by hand and leads to the new task, where its log appears. */
export function useRunProject(projectId: number) {
  const [, go] = useLocation();
  return useAct(
    async (order: RunOrder) => {
      const task = await answerOf(api.projects[":id"].tasks.$post({ param: { id: projectId }, json: order }));
      go(`/tasks/${task.id}`);
      return task;
    },
    {
      done: (task) => `Task ${task.id} of ${shortRef(task.ref)} is on its way.`,
      refresh: ["tasks", "projects", "overview"],
    },
  );
}

export function useCancelTask(id: number) {
  return useAct(() => answerOf(api.tasks[":id"].cancel.$post({ param: { id } })), {
    done: `Task ${id} is told to stop.`,
    refresh: ["task", "tasks", "overview"],
  });
}

export function useRerunTask(id: number) {
  const [, go] = useLocation();
  return useAct(
    async () => {
      const task = await answerOf(api.tasks[":id"].rerun.$post({ param: { id } }));
      go(`/tasks/${task.id}`);
      return task;
    },
    { done: (task) => `Task ${task.id} runs the same again.`, refresh: ["tasks", "overview"] },
  );
}
