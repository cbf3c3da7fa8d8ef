import { queryOptions } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { useAct } from "./act.ts";
import { answerOf, api } from "./api.ts";
import { t } from "./text/text.ts";
import { shortRef } from "./time-text.ts";

export function taskQuery(id: number) {
  return queryOptions({
    queryKey: ["task", id],
    queryFn: () => answerOf(api.tasks[":id"].$get({ param: { id } })),
  });
}

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
      done: (task) => t("project.deployStarted", { id: String(task.id), ref: shortRef(task.ref) }),
      failed: t("project.deployFailed"),
      refresh: ["activity", "projects", "home"],
    },
  );
}

export function useCancelTask(id: number) {
  return useAct(() => answerOf(api.tasks[":id"].cancel.$post({ param: { id } })), {
    done: t("task.cancelRequested", { id: String(id) }),
    failed: t("task.cancelFailed"),
    refresh: ["task", "activity", "home"],
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
    {
      done: (task) => t("task.rerunStarted", { id: String(task.id) }),
      failed: t("task.rerunFailed"),
      refresh: ["activity", "home"],
    },
  );
}
