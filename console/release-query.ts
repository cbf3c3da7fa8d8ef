import { queryOptions } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { useAct } from "./act.ts";
import { answerOf, api } from "./api.ts";
import { t } from "./text/text.ts";

export function releasesQuery(projectId: number) {
  return queryOptions({
    queryKey: ["releases", projectId],
    queryFn: () => answerOf(api.projects[":id"].releases.$get({ param: { id: projectId } })),
  });
}

/** Settings that a rollback to the release of a task brings back, where the project has others now. */
export function releaseSettingsQuery(projectId: number, taskId: number) {
  const param = { id: projectId, taskId };
  return queryOptions({
    queryKey: ["releases", projectId, "settings", taskId],
    queryFn: () => answerOf(api.projects[":id"].releases[":taskId"].settings.$get({ param })),
  });
}

export function outputQuery(taskId: number) {
  return queryOptions({
    queryKey: ["output", taskId],
    queryFn: () => answerOf(api.tasks[":id"].output.$get({ param: { id: taskId } })),
  });
}

/** Brings a release back and leads to the task that does it. */
export function useRollback(projectId: number) {
  const [, go] = useLocation();
  return useAct(
    async (taskId: number) => {
      const param = { id: projectId };
      const task = await answerOf(api.projects[":id"].rollback.$post({ param, json: { taskId } }));
      go(`/tasks/${task.id}`);
      return task;
    },
    {
      done: (task) => t("project.rollbackStarted", { id: String(task.id) }),
      failed: t("project.rollbackFailed"),
      refresh: ["activity", "project", "projects", "releases", "home"],
    },
  );
}

interface Move {
  /** Null: any runner may take the next task. */
  runnerId: number | null;
  data?: "with" | "without";
}

/** Moves a project, and leads to the task that does it, if there is one. */
export function useMoveProject(projectId: number) {
  const [, go] = useLocation();
  return useAct(
    async (json: Move) => {
      const moved = await answerOf(api.projects[":id"].move.$post({ param: { id: projectId }, json }));
      if (moved.task !== null) go(`/tasks/${moved.task.id}`);
      return moved;
    },
    {
      done: ({ task, homeRunnerId }) =>
        task !== null
          ? t("project.moveStarted", { id: String(task.id) })
          : t(homeRunnerId === null ? "project.moved" : "project.movedNext"),
      failed: t("project.moveFailed"),
      refresh: ["project", "projects", "releases", "activity", "home"],
    },
  );
}
