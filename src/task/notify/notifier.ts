import type { Clock } from "../../clock.ts";
import type { Project, TaskEvent } from "../../model/project.ts";
import type { Task } from "../../model/task.ts";
import { randomToken } from "../../secrets.ts";
import { taskJson } from "../queue/task-json.ts";
import type { Outbox } from "./outbox.ts";

/** Tells the addresses of a project what happens to its tasks, by webhooks as Standard Webhooks describes them. */
export interface Notifier {
  tell(event: TaskEvent, task: Task, project: Project): void;
}

export function buildNotifier(parts: { outbox: Outbox; clock: Clock; consoleUrl: () => string }): Notifier {
  return {
    tell(event, task, project) {
      const targets = project.notify.filter(({ events }) => events.length === 0 || events.includes(event));
      if (targets.length === 0) return;
      const body = JSON.stringify({
        type: event,
        timestamp: new Date(parts.clock.now()).toISOString(),
        data: {
          project: { id: project.id, name: project.name },
          task: taskJson(task),
          url: `${parts.consoleUrl()}/tasks/${task.id}`,
        },
      });
      for (const { url } of targets)
        parts.outbox.send({
          projectId: project.id,
          kind: "notification",
          subject: null,
          url,
          messageId: `msg_${randomToken(18)}`,
          proof: "signature",
          body,
        });
    },
  };
}
