import { createHmac } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Project, TaskEvent } from "../model/project.ts";
import type { Task } from "../model/task.ts";
import { randomToken } from "../secrets.ts";
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
  const headers = { "webhook-id": id, "webhook-timestamp": String(timestamp) };
  if (signingKey === null) return headers;
  const signature = createHmac("sha256", keyBytes(signingKey))
    .update(`${id}.${timestamp}.${body}`)
    .digest("base64");
  return { ...headers, "webhook-signature": `v1,${signature}` };
}

/** `whsec_…` carries the key in base64; any other text is the key itself. */
function keyBytes(signingKey: string): Uint8Array {
  const encoded = /^whsec_(.+)$/.exec(signingKey)?.[1];
  return encoded === undefined ? Buffer.from(signingKey) : Buffer.from(encoded, "base64");
}
