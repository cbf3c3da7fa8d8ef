import { SlipwayPush } from "../../../client/slipway-push.ts";
import type { LiveLogLine } from "../reconciler/history.ts";
import type { Instance } from "../setups/part.ts";
import type { Api } from "./api.ts";

/** A page of the console that shows the logs of all tasks of some projects while they run. */
export class LiveLogs {
  lines: LiveLogLine[] = [];
  readonly #push: SlipwayPush;

  constructor(api: Api, instance: Instance, projectIds: number[]) {
    this.#push = new SlipwayPush({
      url: `${instance.front}/ws`,
      code: async () =>
        (await api.call<{ code: string }>("POST", "/api/push/codes", { for: "console" })).code,
      temporary: true,
      channels: projectIds.map((id) => `private-project-${id}`),
      minDelayMs: 300,
      maxDelayMs: 2_000,
      heartbeatIntervalMs: 2_000,
      heartbeatTimeoutMs: 4_000,
    });
    this.#push.on("message", ({ data }) => this.#take(data));
    this.#push.open();
  }

  /** A code that a lost handshake used up ends the client; the page gets another one. */
  keepOpen(): void {
    this.#push.open();
  }

  close(): void {
    this.#push.close();
  }

  #take(data: string): void {
    const message = JSON.parse(data) as {
      type: string;
      taskId?: number;
      from?: number;
      lines?: { text: string }[];
      task?: { id: number; projectId: number };
    };
    if (message.type === "task" && message.task) {
      const { id, projectId } = message.task;
      this.#push.join(`private-project-${projectId}/task-${id}`);
    }
    if (message.type !== "log" || message.taskId === undefined) return;
    for (const [place, { text }] of (message.lines ?? []).entries())
      this.lines.push({ taskId: message.taskId, index: (message.from ?? 0) + place, text });
  }
}
