import type { TargetType } from "../message/message.ts";
import type { Connection } from "./connection.ts";

/**
 * Native topics of the runtime. Each exists twice, for raw and for `slipway.v1` clients, so that a message is encoded
 * once for each. A message goes to exactly one target and a connection is in one of the twins: it gets it once.
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

/** Every topic that a connection hears. */
export function topicsOf({ userId, kind, isV1, channels }: Connection): string[] {
  const topics = [rawTopic("all", ""), rawTopic("user", userId)];
  if (kind === "temporary") topics.push(rawTopic("temp_user", userId));
  for (const channel of channels ?? []) topics.push(rawTopic("channel", channel));
  return isV1 ? topics.map(v1TopicOf) : topics;
}

/** The same rule without the runtime: whether a message is one of those that the connection hears. */
export function hears(connection: Connection, targetType: TargetType, target: string): boolean {
  if (targetType === "all") return true;
  if (targetType === "channel") return connection.channels?.has(target) ?? false;
  if (connection.userId !== target) return false;
  return targetType === "user" || connection.kind === "temporary";
}
