import { timePasses } from "../setups/part.ts";
import { brokerNames, type FaultKind } from "./fault-kind.ts";

const memoryAlarm: FaultKind = {
  name: "memory-alarm",
  about: "RabbitMQ blocks its publishers for lack of memory",
  targets: ({ broker }) => (broker?.raiseAlarm ? ["rabbitmq"] : []),
  // Reading continues.
  hits: () => [],
  async inject({ broker }, _target, random, probe) {
    await broker?.raiseAlarm?.();
    try {
      await timePasses(random.between(1_000, 5_000));
      return await probe.whileBroken();
    } finally {
      await broker?.clearAlarm?.();
    }
  },
};

const closedConnections: FaultKind = {
  name: "close-connections",
  about: "the operator of RabbitMQ closes every connection",
  targets: ({ broker }) => (broker?.closeConnections ? ["rabbitmq"] : []),
  async inject({ broker }, _target, random) {
    await broker?.closeConnections?.();
    // The command returns before the gateways notice.
    await timePasses(random.between(1_500, 3_000));
  },
};

const revokedBroker: FaultKind = {
  name: "revoke-broker",
  about: "the gateways may not use the broker any more, then they may again",
  targets: ({ broker }) => (broker ? ["broker"] : []),
  hits: brokerNames,
  async inject({ broker }, _target, random, probe) {
    await broker?.revoke();
    try {
      await timePasses(random.between(1_500, 4_000));
      return await probe.whileBroken();
    } finally {
      await broker?.grant();
    }
  },
};

const killedLeader: FaultKind = {
  name: "kill-leader",
  about: "kill -9 of the Kafka broker that leads the broadcast topic",
  targets: ({ broker }) => (broker?.leader ? ["leader"] : []),
  hits: brokerNames,
  async inject({ broker, timeline }, _target, random) {
    const part = await broker?.leader?.();
    timeline.add(`the leader is ${part?.name}`);
    part?.signal("SIGKILL");
    await part?.ended(10_000);
    await timePasses(random.between(0, 6_000));
    await part?.start();
  },
};

export const brokerFaults = [memoryAlarm, closedConnections, revokedBroker, killedLeader];
