import {
  type Admin,
  ConfigResourceTypes,
  IncrementalAlterConfigOperationTypes,
  type MultipleErrors,
} from "@platformatic/kafka";
import { Fault } from "../../errors.ts";
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

/** Creates a missing topic with the replication of the cluster. An existing one is used as it is. */
export async function ensureTopic(admin: Admin, name: string, topic: LogName | ExternalTopic): Promise<void> {
  if ((await admin.listTopics()).includes(name)) return;
  const { partitions, isLog } = topicSettings[topic];
  const request = { topics: [name], partitions, replicas: -1 };
  const configs = [{ name: "max.message.bytes", value: String(maxMessageBytes) }];
  if (isLog)
    configs.push(
      { name: "retention.ms", value: String(logRetentionMs) },
      // The starting read looks for a time, which must not depend on the clocks of the writers.
      { name: "message.timestamp.type", value: "LogAppendTime" },
      { name: "unclean.leader.election.enable", value: "false" },
    );
  try {
    const [created] = await admin.createTopics({ ...request, configs });
    if (isLog && created && created.replicas >= 3) await requireTwoReplicas(admin, name);
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

/** So that a confirmed record survives the loss of a broker. Without the permission, the default of the cluster applies. */
async function requireTwoReplicas(admin: Admin, name: string): Promise<void> {
  const configs = [
    {
      name: "min.insync.replicas",
      value: "2",
      configOperation: IncrementalAlterConfigOperationTypes.SET,
    },
  ];
  const resource = { resourceType: ConfigResourceTypes.TOPIC, resourceName: name, configs };
  await admin.incrementalAlterConfigs({ resources: [resource] }).catch(() => {});
}
