import { readFile } from "node:fs/promises";
import { type Broker, BrokerBus } from "../bus/broker-bus.ts";
import type { Bus } from "../bus/bus.ts";
import { stableInstanceId } from "../bus/instance-id.ts";
import { localBus } from "../bus/local.ts";
import { steadyClock } from "../clock.ts";
import type { Config } from "../config.ts";
import { ConfigError } from "../config-load.ts";
import { Fault, messageOf } from "../errors.ts";
import { randomToken } from "../secrets.ts";
import type { Ground } from "./part.ts";

export interface Buses {
  /** Carries `broadcast` and `control`. */
  bus: Bus;
  /** Carries `client` and `events` to other services; null: there is no queue. */
  outbound: Bus | null;
  /** Name of this instance, in messages and at the broker. */
  node: string;
}

/** One instance talks to itself. Several, or one whose client messages go to other services, need the queue. */
export async function openBuses({ config, log, metrics }: Ground): Promise<Buses> {
  const url = config["push.queue.url"];
  const isCluster = config["push.cluster-enabled"];
  if (!url || !(isCluster || config["push.queue-client-messages"]))
    return { bus: localBus(), outbound: null, node: randomToken(6, "hex") };
  const node = await settled(stableInstanceId(config["data.dir"], config["push.queue.instance-id"]));
  const queue = new BrokerBus(await settled(brokerOf(url, node, config)), {
    prefix: config["push.queue.prefix"],
    log,
    clock: steadyClock,
    random: Math.random,
    metrics,
  });
  return { bus: isCluster ? queue : localBus(), outbound: queue, node };
}

async function brokerOf(url: string, instanceId: string, config: Config): Promise<Broker> {
  const options = {
    url,
    prefix: config["push.queue.prefix"],
    instanceId,
    isDurable: config["push.queue.durability"] === "durable",
    tlsCa: await authorityIn(config["push.queue.tls-ca"]),
  };
  // Only the client that is used is loaded: Kafka's alone is most of the start-up time and half of the memory.
  if (url.startsWith("amqp")) {
    const { rabbitmqBroker } = await import("../bus/rabbitmq.ts");
    return rabbitmqBroker(options);
  }
  const { kafkaBroker } = await import("../bus/kafka.ts");
  return kafkaBroker({ ...options, sasl: config["push.queue.sasl"] });
}

async function authorityIn(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new Fault("invalid", `push.queue.tls-ca names a file that cannot be read: ${messageOf(error)}`);
  }
}

/** What is wrong with a setting and shows only here is told as every other mistake in the settings is. */
async function settled<T>(building: Promise<T>): Promise<T> {
  try {
    return await building;
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "invalid") throw error;
    const [, key = "push.queue.url", message = error.message] =
      /^(push\.queue\.[\w-]+) (.*)$/s.exec(error.message) ?? [];
    throw new ConfigError([{ key, source: "settings", message }]);
  }
}
