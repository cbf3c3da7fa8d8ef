import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { consoleUserId, projectChannel, taskChannel } from "../../model/console/console-names.ts";
import type { DeliverySummary } from "../../model/delivery.ts";
import type { TaskEvent } from "../../model/settings/notify-target.ts";
import type { LogLine, Task } from "../../model/task.ts";
import { renderReason } from "../../reason/reason.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { traceFields } from "../../telemetry/trace-context.ts";
import type { ServiceJson } from "../view/service-json.ts";
import { type LogLineJson, logLineJson, type TaskJson, taskJson } from "../view/task-json.ts";
import { taskTraceparent } from "../view/task-trace.ts";

/**
 * Messages on `private-project-<id>`; `private-project-<id>/task-<id>` carries the same ones, and the log. `approval` goes
 * to the console's connections of the people who may approve, whatever page they have open.
 */
export type LiveMessage =
  | { type: "task"; event: TaskEvent | "task.changed"; task: TaskJson }
  | { type: "approval"; project: string; task: TaskJson }
  | { type: "services"; projectId: number; services: ServiceJson[] }
  | { type: "delivery"; delivery: Omit<DeliverySummary, "reason"> & { reason: string } }
  | { type: "log"; taskId: number; from: number; lines: LogLineJson[] };

/** The console's connections are temporary. */
export interface LiveTarget {
  targetType: "channel" | "temp_user";
  target: string;
}

/** Passes a message to the push gateway: in this process, or another one over HTTP. */
export type PublishLive = (to: LiveTarget, data: string, traceparent: string | null) => Promise<void>;

/** A message whose way to the browser is traced. */
interface TracedEvent {
  /** The span above it. */
  traceparent: string | null;
  event: TaskEvent;
}

/**
 * Limit of messages that wait for the gateway; above it they are dropped, and browsers fetch missing lines by index.
 */
const maxWaiting = 2000;
/** Characters of one log message; the gateway's own limit is a megabyte. */
const messageMaxLength = 200_000;

/** Without a gateway there are no subscribers. */
export const silentLive: Live = {
  task: () => {},
  approval: () => {},
  log: () => {},
  services: () => {},
  delivery: () => {},
  flushed: async () => {},
};

/** Live events of tasks for browsers. */
export function buildLive(publish: PublishLive, log: Logger, telemetry: Telemetry) {
  let last = Promise.resolve();
  let waiting = 0;
  let dropped = 0;

  function say(channel: string, data: string, traced?: TracedEvent): void {
    send({ targetType: "channel", target: channel }, data, traced);
  }

  function send(to: LiveTarget, data: string, traced?: TracedEvent): void {
    if (waiting >= maxWaiting) {
      dropped += 1;
      return;
    }
    waiting += 1;
    const span = traced ? telemetry.start(traced.traceparent, `message ${traced.event}`, "producer") : null;
    const attributes = { "messaging.destination.name": to.target };
    // One after the other, so that log lines keep their order.
    last = last
      .then(() => publish(to, data, span?.traceparent ?? null))
      .then(() => span?.end({ attributes }))
      .catch((error: unknown) => {
        const fault = messageOf(error);
        span?.end({ attributes, fault });
        log.warn(
          { channel: to.target, error: fault, ...traceFields(span?.traceparent) },
          "a live message was not published",
        );
      })
      .finally(() => {
        waiting -= 1;
        if (waiting > 0 || dropped === 0) return;
        log.warn({ dropped }, "the push gateway was too slow; live messages were dropped");
        dropped = 0;
      });
  }

  return {
    task(event: TaskEvent | "task.changed", task: Task): void {
      const data = JSON.stringify({ type: "task", event, task: taskJson(task) } satisfies LiveMessage);
      // Of a change between the events of a task there are many, and no one waits for it.
      const traced = event === "task.changed" ? undefined : { event, traceparent: taskTraceparent(task) };
      say(projectChannel(task.projectId), data, traced);
      say(taskChannel(task.projectId, task.id), data, traced);
    },
    /** A deploy waits for the approval of one of these users. */
    approval(task: Task, project: string, userIds: number[]): void {
      const message: LiveMessage = { type: "approval", project, task: taskJson(task) };
      const data = JSON.stringify(message);
      for (const id of userIds) send({ targetType: "temp_user", target: consoleUserId(id) }, data);
    },
    log(task: Task, lines: LogLine[]): void {
      for (const part of partsOf(lines.map(logLineJson)))
        say(
          taskChannel(task.projectId, task.id),
          JSON.stringify({
            type: "log",
            taskId: task.id,
            from: part[0]?.index ?? 0,
            lines: part,
          } satisfies LiveMessage),
        );
    },
    /** The state of a service has changed. */
    services(projectId: number, services: ServiceJson[]): void {
      const message: LiveMessage = { type: "services", projectId, services };
      say(projectChannel(projectId), JSON.stringify(message));
    },
    /** A delivery was recorded; deliveries without a project have no subscribers. */
    delivery({ reason, ...summary }: DeliverySummary): void {
      const delivery = { ...summary, reason: renderReason(reason) };
      if (delivery.project_id !== 0)
        say(
          projectChannel(delivery.project_id),
          JSON.stringify({ type: "delivery", delivery } satisfies LiveMessage),
        );
    },
    /** Resolves when all messages are sent. */
    flushed: () => last,
  };
}
export type Live = ReturnType<typeof buildLive>;

function partsOf(lines: LogLineJson[]): LogLineJson[][] {
  const parts: LogLineJson[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const line of lines) {
    if (length + line.text.length > messageMaxLength) {
      parts.push([]);
      length = 0;
    }
    parts.at(-1)?.push(line);
    length += line.text.length + 80;
  }
  return parts;
}
