import type { Clock } from "../clock.ts";
import type { Project, TaskEvent } from "../model/project.ts";
import type { Task } from "../model/task.ts";
import { randomToken } from "../secrets.ts";
import { standardDigest, standardHeaders } from "../standard-webhooks.ts";
import type { Outbox } from "./outbox.ts";
import { taskJson } from "./task-json.ts";

/** Tells the addresses of a project what happens to its tasks, by webhooks as Standard Webhooks describes them. */
export interface Notifier {
  tell(event: TaskEvent, task: Task, project: Project, signingKey: string | null): void;
}

export function buildNotifier(parts: { outbox: Outbox; clock: Clock; consoleUrl: () => string }): Notifier {
  return {
    tell(event, task, project, signingKey) {
      const at = parts.clock.now();
      const body = JSON.stringify({
        type: event,
        timestamp: new Date(at).toISOString(),
        data: {
          project: { id: project.id, name: project.name },
          task: taskJson(task),
          url: `${parts.consoleUrl()}/tasks/${task.id}`,
        },
      });
      for (const target of project.notify) {
        if (target.events.length > 0 && !target.events.includes(event)) continue;
        const id = `msg_${randomToken(18)}`;
        parts.outbox.send({
          kind: "notification",
          subject: null,
          url: target.url,
          headers: {
            "content-type": "application/json",
            "user-agent": "Slipway",
            ...webhookHeaders(id, Math.floor(at / 1000), body, signingKey),
          },
          body,
        });
      }
    },
  };
}

/** Headers of Standard Webhooks; without a key of the project there is no signature. */
export function webhookHeaders(
  id: string,
  timestamp: number,
  body: string,
  signingKey: string | null,
): Record<string, string> {
  const headers = { [standardHeaders.id]: id, [standardHeaders.timestamp]: String(timestamp) };
  if (signingKey === null) return headers;
  const digest = standardDigest(signingKey, id, String(timestamp), body);
  return { ...headers, [standardHeaders.signature]: `v1,${digest.toString("base64")}` };
}
