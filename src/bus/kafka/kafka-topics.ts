import type { Admin, MultipleErrors } from "@platformatic/kafka";
import { Fault } from "../../errors.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import type { ExternalTopic } from "../bus.ts";
import type { LogName } from "../log.ts";

/** Room for the largest published message with envelope and escaping. */
const maxMessageBytes = 8 * 1024 * 1024;
/** More than the keys and the positions of clients need, so that an instance that was away continues without a loss. */
const logRetentionMs = 60 * 60_000;

/** A log has one partition, because partitions have no common order. */
const topicSettings = {
  broadcast: { partitions: 1, isLog: true },
  control: { partitions: 1, isLog: true },
  client: { partitions: 6, isLog: false },
  events: { partitions: 1, isLog: false },
} as const satisfies Record<LogName | ExternalTopic, { partitions: number; isLog: boolean }>;

/** With three, a confirmed record survives the loss of any broker; more cost more than they give. */
const wantedReplicas = 3;

/** Creates a missing topic with up to three replicas. An existing one is used as it is. */
export async function ensureTopic(admin: Admin, name: string, topic: LogName | ExternalTopic): Promise<void> {
  if ((await admin.listTopics()).includes(name)) return;
  const { brokers } = await admin.metadata({ topics: [], forceUpdate: true });
  const { partitions, isLog } = topicSettings[topic];
  const replicas = Math.min(wantedReplicas, brokers.size);
  const configs = [{ name: "max.message.bytes", value: String(maxMessageBytes) }];
  if (replicas === wantedReplicas) configs.push({ name: "min.insync.replicas", value: "2" });
  if (isLog)
    configs.push(
      { name: "retention.ms", value: String(logRetentionMs) },
      // The starting read looks for a time, which must not depend on the clocks of the writers.
      { name: "message.timestamp.type", value: "LogAppendTime" },
      { name: "unclean.leader.election.enable", value: "false" },
    );
  try {
    await admin.createTopics({ topics: [name], partitions, replicas, configs });
  } catch (error) {
    // Another instance created it first.
    if ((error as MultipleErrors).findBy?.("apiId", "TOPIC_ALREADY_EXISTS")) return;
    throw new Fault(
      "unavailable",
      `The Kafka topic ${name} is missing and cannot be created; create it, or allow this user to.`,
      { cause: error },
    );
  }
}

export interface TopicCopies {
  name: string;
  /** Ids of the brokers that have a replica, the preferred leader first. */
  replicas: readonly number[];
  /** Ids of all brokers. */
  brokers: readonly number[];
  /** `host:port`, for the commands. */
  bootstrap: string;
}

/** What to do about a log with fewer replicas than the brokers allow; null: it has enough. */
export function replicaWarning({ name, replicas, brokers, bootstrap }: TopicCopies): Reason | null {
  const wanted = Math.min(wantedReplicas, brokers.length);
  if (replicas.length >= wanted) return null;
  const others = brokers.filter((id) => !replicas.includes(id)).sort((one, other) => one - other);
  const plan = {
    version: 1,
    partitions: [{ topic: name, partition: 0, replicas: [...replicas, ...others].slice(0, wanted) }],
  };
  const commands = [
    `echo '${JSON.stringify(plan)}' > replicas.json`,
    `kafka-reassign-partitions.sh --bootstrap-server ${bootstrap} --reassignment-json-file replicas.json --execute`,
    ...(wanted === wantedReplicas
      ? [
          `kafka-configs.sh --bootstrap-server ${bootstrap} --alter --entity-type topics --entity-name ${name} --add-config min.insync.replicas=2`,
        ]
      : []),
  ];
  return newReason("system_replicas", {
    topic: name,
    count: replicas.length,
    wanted,
    brokers: brokers.length,
    commands: commands.join(" && "),
  });
}
