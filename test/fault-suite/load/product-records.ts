import type { Delivery, DeliveryRecord, TaskView } from "../reconciler/history.ts";
import type { World } from "../setups/world.ts";
import { elapsedMs } from "../timeline.ts";
import type { Api } from "./api.ts";
import type { NotificationReceiver } from "./notification-receiver.ts";

const pageSize = 200;

export const endStates = ["success", "failed", "canceled", "timeout", "lost"];
export const endEvents = ["task.succeeded", "task.failed", "task.canceled", "task.timeout", "task.lost"];

interface ApiTask {
  id: number;
  projectId: number;
  state: string;
  reason: string | null;
  commit: string | null;
  attempt: number;
  /** Null: it builds or deploys. */
  serviceAction: object | null;
}

interface ApiDelivery {
  id: number;
  commit: string;
  task_id: number;
  merged_into_task_id: number | null;
  remote_ip: string;
}

/** What the product has stored, as far as the suite compares it. */
export class ProductRecords {
  readonly #world: World;
  readonly #api: Api;
  readonly #receiver: NotificationReceiver;

  constructor(world: World, api: Api, receiver: NotificationReceiver) {
    this.#world = world;
    this.#api = api;
    this.#receiver = receiver;
  }

  /** Tasks after `lastTaskId`, by id. Times are by the clock of the suite, because that of a server may be wrong. */
  async tasksOf(
    projectId: number,
    after: { lastTaskId: number; from: number; deliveries: Delivery[] },
    isBroken: (commit: string) => boolean,
  ): Promise<TaskView[]> {
    const tasks: TaskView[] = [];
    for (let page = 1; ; page++) {
      const { items } = await this.#api.call<{ items: ApiTask[] }>(
        "GET",
        `/api/tasks?projectId=${projectId}&pageSize=${pageSize}&page=${page}`,
      );
      const fresh = items.filter(({ id }) => id > after.lastTaskId);
      // The fault that made an action waits for its end.
      for (const { id, state, reason, commit, attempt } of fresh.filter((each) => !each.serviceAction)) {
        const made = after.deliveries.find(({ taskId }) => taskId === id);
        const end = this.#receiver.received.find(
          ({ taskId, type }) => taskId === id && endEvents.includes(type),
        );
        tasks.push({
          id,
          projectId,
          state,
          reason: reason ?? "",
          commit: commit ?? "",
          isBroken: isBroken(commit ?? ""),
          attempt,
          createdAt: made?.sentAt ?? after.from,
          finishedAt: endStates.includes(state) ? (end?.at ?? elapsedMs()) : 0,
        });
      }
      if (fresh.length < pageSize) return tasks.sort((a, b) => a.id - b.id);
    }
  }

  /**
   * The latest records of a project; marks deliveries whose record was found. A clock that was set back moves records down
   * the list, so those that are missing in it are read one by one.
   */
  async deliveriesOf(projectId: number, sent: Delivery[]): Promise<DeliveryRecord[]> {
    const path = `/api/webhooks/deliveries?projectId=${projectId}&pageSize=${pageSize}`;
    const { items } = await this.#api.call<{ items: ApiDelivery[] }>("GET", path);
    const known = new Set(items.map(({ id }) => id));
    const isOpen = (delivery: Delivery) =>
      delivery.projectId === projectId && delivery.deliveryId !== null && !delivery.isRecorded;
    for (const delivery of sent.filter(isOpen)) delivery.isRecorded = known.has(delivery.deliveryId ?? 0);
    for (const delivery of sent.filter(isOpen)) {
      const found = await this.#api
        .call<{ id: number }>("GET", `/api/webhooks/deliveries/${delivery.deliveryId}`)
        .catch(() => null);
      delivery.isRecorded = found?.id === delivery.deliveryId;
      this.#world.timeline.add(`delivery ${delivery.deliveryId} is not on the first page of the list`);
    }
    return items.map((item) => ({
      projectId,
      commit: item.commit,
      taskId: item.task_id || (item.merged_into_task_id ?? null),
      isPoll: item.remote_ip === "poll",
    }));
  }

  async logOf(taskId: number): Promise<{ index: number; text: string }[]> {
    const lines: { index: number; text: string }[] = [];
    for (;;) {
      const path = `/api/tasks/${taskId}/log?from=${lines.length}&limit=1000`;
      const page = await this.#api.call<{ lines: { index: number; text: string }[] }>("GET", path);
      lines.push(...page.lines);
      if (page.lines.length === 0) return lines;
    }
  }

  async waitingNotifications(): Promise<number> {
    const counts = await Promise.all(
      this.#world.instances.map(async ({ url }) => {
        const metrics = await fetch(`${url}/metrics`, { keepalive: false }).then((answer) => answer.text());
        return Number(/^slipway_outgoing_calls_waiting (\d+)/m.exec(metrics)?.[1] ?? 0);
      }),
    );
    return Math.max(0, ...counts);
  }
}
