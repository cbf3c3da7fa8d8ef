import { join } from "node:path";
import { freePort } from "../../support/free-port.ts";
import { apiVersionsRequest, clusterId, findJars, javaCommand } from "../../support/kafka.ts";
import { run, ServiceUnavailable } from "../../support/service-install.ts";
import { answers, launch, type RunningService, serviceFolder } from "../../support/service-process.ts";

/** Users of the brokers and of the suite. */
export const operator = { mechanism: "PLAIN", username: "operator", password: "operator" } as const;

const loginModule =
  "org.apache.kafka.common.security.plain.PlainLoginModule required " +
  `username="${operator.username}" password="${operator.password}" user_${operator.username}="${operator.password}";`;

export interface KafkaNode {
  service: RunningService;
  /** For the suite. */
  port: number;
  /** For gateways: each has its own listener, so that its network can break alone. */
  gatewayPorts: number[];
}

export interface ListenerPlan {
  brokers: number;
  gateways: number;
  /** Opens the link between a gateway and a broker, and returns the port that the broker announces. */
  announce(gateway: number, broker: number, port: number): Promise<number>;
}

/** Brokers that are also controllers, with Kafka's defaults for new topics: one replica. */
export async function startKafkaNodes(plan: ListenerPlan): Promise<KafkaNode[]> {
  const classPath = await findJars();
  if (!classPath) throw new ServiceUnavailable("The set-up kafka needs Java 17 and Maven's artifacts.");
  const numbers = Array.from({ length: plan.brokers }, (_, index) => index + 1);
  const controllerPorts = await Promise.all(numbers.map(() => freePort()));
  const voters = numbers.map((node) => `${node}@127.0.0.1:${controllerPorts[node - 1]}`).join(",");
  return Promise.all(
    numbers.map((node) => startNode(classPath, node, controllerPorts[node - 1] ?? 0, voters, plan)),
  );
}

async function startNode(
  classPath: string,
  node: number,
  controllerPort: number,
  voters: string,
  plan: ListenerPlan,
): Promise<KafkaNode> {
  const folder = serviceFolder(`kafka-${node}`);
  const port = freePort();
  const gatewayPorts: number[] = [];
  const announced: number[] = [];
  for (let gateway = 1; gateway <= plan.gateways; gateway++) {
    const own = freePort();
    gatewayPorts.push(own);
    announced.push(await plan.announce(gateway, node, own));
  }
  const names = gatewayPorts.map((_, index) => `GATEWAY${index + 1}`);
  const listeners = (ports: number[]) => names.map((name, index) => `${name}://127.0.0.1:${ports[index]}`);
  const settings: Record<string, string> = {
    "process.roles": "broker,controller",
    "node.id": String(node),
    "controller.quorum.voters": voters,
    listeners: [
      `BROKER://127.0.0.1:${port}`,
      `CONTROLLER://127.0.0.1:${controllerPort}`,
      ...listeners(gatewayPorts),
    ].join(),
    "advertised.listeners": [`BROKER://127.0.0.1:${port}`, ...listeners(announced)].join(),
    "listener.security.protocol.map": [
      "BROKER:SASL_PLAINTEXT",
      "CONTROLLER:SASL_PLAINTEXT",
      ...names.map((name) => `${name}:PLAINTEXT`),
    ].join(),
    "inter.broker.listener.name": "BROKER",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": join(folder, "data"),
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": String(plan.brokers),
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": String(plan.brokers),
    "group.initial.rebalance.delay.ms": "0",
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "1000",
    "replica.lag.time.max.ms": "5000",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.broker.plain.sasl.jaas.config": loginModule,
    "listener.name.controller.plain.sasl.jaas.config": loginModule,
    // Brokers and the suite have all permissions; those of others are checked only after a fault has set some.
    "super.users": `User:${operator.username}`,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
  };
  const file = join(folder, "server.properties");
  await Bun.write(
    file,
    Object.entries(settings)
      .map(([key, value]) => `${key}=${value}\n`)
      .join(""),
  );
  const java = javaCommand(classPath);
  if (!(await run([...java, "kafka.tools.StorageTool", "format", "-t", clusterId, "-c", file])))
    throw new ServiceUnavailable("Kafka's storage could not be formatted; see above.");
  const service = await launch({
    name: `Apache Kafka ${node}`,
    url: `kafka://127.0.0.1:${port}`,
    folder,
    command: [...java, "kafka.Kafka", file],
    isReady: () => answers(port, apiVersionsRequest),
  });
  return { service, port, gatewayPorts };
}
