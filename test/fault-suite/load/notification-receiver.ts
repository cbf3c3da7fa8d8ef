import type { Notification } from "../reconciler/history.ts";
import { elapsedMs } from "../timeline.ts";

export interface NotificationReceiver {
  port: number;
  readonly received: (Notification & { at: number; projectId: number })[];
  stop(): void;
}

/** Receives the outgoing webhooks of all projects. */
export function receiveNotifications(): NotificationReceiver {
  const received: NotificationReceiver["received"] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(incoming) {
      const body = (await incoming.json()) as {
        type: string;
        data: { task?: { id: number; projectId: number } };
      };
      // A service is down or up.
      if (!body.data.task) return new Response(null, { status: 204 });
      received.push({
        webhookId: incoming.headers.get("webhook-id") ?? "",
        type: body.type,
        taskId: body.data.task.id,
        projectId: body.data.task.projectId,
        at: elapsedMs(),
      });
      return new Response(null, { status: 204 });
    },
  });
  return { port: server.port ?? 0, received, stop: () => void server.stop(true) };
}
