import type { PushedMessage, TargetType } from "../message/message.ts";
import type { Connection } from "./connection.ts";

/**
 * Publish/subscribe topics of the runtime. Each target has two, for raw and for `slipway.v1` clients, so that a message is
 * encoded once per format. A connection is subscribed to one of the two, so it gets each message once.
 */
const v1Prefix = "v1:";

const topicPrefix = {
  all: "all",
  user: "user:",
  temp_user: "temp:",
  channel: "channel:",
} as const satisfies Record<TargetType, string>;

export function rawTopic(targetType: TargetType, target: string): string {
  return targetType === "all" ? topicPrefix.all : topicPrefix[targetType] + target;
}

export function v1TopicOf(topic: string): string {
  return v1Prefix + topic;
}

export function channelTopic(channel: string, isV1: boolean): string {
  const topic = rawTopic("channel", channel);
  return isV1 ? v1TopicOf(topic) : topic;
}

/**
 * Every topic that a live connection is subscribed to. Messages to all are those of applications: a view of the console does
 * not get them, and so is not counted among their receivers.
 */
export function topicsOf({ userId, kind, isV1, isConsole, channels }: Connection): string[] {
  const topics = [rawTopic("user", userId)];
  if (!isConsole) topics.push(rawTopic("all", ""));
  if (kind === "temporary") topics.push(rawTopic("temp_user", userId));
  for (const channel of channels ?? []) topics.push(rawTopic("channel", channel));
  return isV1 ? topics.map(v1TopicOf) : topics;
}

export type Recipients = Pick<PushedMessage, "targetType" | "target" | "targets">;

/** Whether a message is for the connection; the same rule as `topicsOf`. */
export function isRecipient(connection: Connection, { targetType, target, targets }: Recipients): boolean {
  if (targetType === "all") return !connection.isConsole;
  if (targetType === "channel") return connection.channels?.has(target) ?? false;
  const isToUser = targets ? targets.has(connection.userId) : connection.userId === target;
  if (!isToUser) return false;
  return targetType === "user" || connection.kind === "temporary";
}
