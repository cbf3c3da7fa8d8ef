import { z } from "zod";

export const notifyEvents = [
  "task.queued",
  "task.started",
  "task.succeeded",
  "task.failed",
  "task.canceled",
  "task.timeout",
  "task.lost",
  "approval.requested",
  "delivery.rejected",
  "delivery.failed",
  "runner.gone",
  "service.down",
  "service.up",
] as const;
export type NotifyEvent = (typeof notifyEvents)[number];
export type TaskEvent = Extract<NotifyEvent, `task.${string}`>;

/** Events that a target receives only if it names them. */
export type OptionalEvent = Exclude<NotifyEvent, TaskEvent>;

/** Who is told of what happens in a project. */
export const notifyTarget = z.object({
  id: z.string(),
  format: z.enum(["slipway", "slack", "discord", "dingtalk", "feishu", "wecom", "telegram", "push"]).meta({
    description:
      "Shape and signature of the messages; `slipway` is a signed webhook (Standard Webhooks), `push` publishes releases to a channel of the own gateway.",
  }),
  /** The whole address is a credential and is stored encrypted, among the project's secrets. */
  url: z.string().meta({
    description: "The host and the last four characters.",
    example: "https://hooks.slack.com/…XXXX",
  }),
  events: z.array(z.enum(notifyEvents)).max(notifyEvents.length).meta({
    description:
      "Empty: all task events. `approval.requested`, `delivery.rejected`, `delivery.failed`, `runner.gone`, `service.down` and `service.up` are sent only to targets that name them.",
  }),
  logLines: z
    .number()
    .int()
    .min(0)
    .max(50)
    .meta({ description: "How many of the last log lines a message about a finished task has." }),
  /** Whether a signing secret is stored with the address. */
  hasSecret: z.boolean(),
});
export type NotifyTarget = z.infer<typeof notifyTarget>;
export type NotifyFormat = NotifyTarget["format"];
