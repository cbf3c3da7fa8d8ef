import { useSyncExternalStore } from "react";
import { taskChannel } from "../src/model/console/console-names.ts";
import { answerOf, api, queryClient } from "./api.ts";
import { live } from "./live.ts";
import type { Task } from "./shapes.ts";
import { taskQuery } from "./task-query.ts";
import { t } from "./text/text.ts";
import { visible } from "./visible.ts";

const pollMs = 10_000;
const finished = ["success", "failed", "canceled", "timeout", "lost"];

/** Tasks whose end is announced, with what ends the watch. They are watched as long as the page is open. */
const watched = new Map<number, () => void>();
const listeners = new Set<() => void>();

function changed(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Browsers offer notifications over https only. */
export const canNotify = "Notification" in globalThis && isSecureContext;

/** Whether the end of the task is announced. */
export function useIsWatched(taskId: number): boolean {
  return useSyncExternalStore(subscribe, () => watched.has(taskId));
}

/** Returns false if the browser refuses notifications. */
export async function watchTask(task: Pick<Task, "id" | "projectId">, projectName: string): Promise<boolean> {
  if ((await Notification.requestPermission()) !== "granted") return false;
  if (watched.has(task.id)) return true;
  const check = async () => {
    const now = await answerOf(api.tasks[":id"].$get({ param: { id: task.id } })).catch(() => null);
    if (now === null || !watched.has(task.id) || !finished.includes(now.state)) return;
    stopWatching(task.id);
    queryClient.setQueryData(taskQuery(task.id).queryKey, now);
    announce(now, projectName);
  };
  const stopListening = live.listen(taskChannel(task.projectId, task.id), (message) => {
    const isLog = typeof message === "object" && message !== null && "lines" in message;
    if (!isLog) void check();
  });
  const timer = setInterval(() => void check(), pollMs);
  watched.set(task.id, () => {
    clearInterval(timer);
    stopListening();
  });
  changed();
  return true;
}

export function stopWatching(taskId: number): void {
  watched.get(taskId)?.();
  watched.delete(taskId);
  changed();
}

function announce(task: Task, projectName: string): void {
  const values = { project: visible(projectName), id: String(task.id), state: t(`state.${task.state}`) };
  const [firstLine = ""] = task.message.split("\n");
  const notification = new Notification(t("task.ended", values), {
    body: visible(task.reason || firstLine),
    tag: `slipway-task-${task.id}`,
  });
  notification.onclick = () => {
    window.focus();
    location.assign(`/tasks/${task.id}`);
  };
}
