import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Broker, BrokerBus } from "../bus/broker-bus.ts";
import type { Bus } from "../bus/bus.ts";
import { type KafkaSasl, parseKafkaAddress } from "../bus/kafka/kafka-address.ts";
import { type LogFiles, localBus } from "../bus/local.ts";
import type { LogName } from "../bus/log.ts";
import { LogFile } from "../bus/log-file.ts";
import { type Clock, machineClock, steadyClock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { ConfigError, type ConfigFault } from "../config/config-load.ts";
import { messageOf } from "../errors.ts";
import { oncePerSecond } from "../once-per-second.ts";
import { singleUseWindowMs } from "../push/admission/single-use.ts";
import { presenceWindowMs } from "../push/presence/presence.ts";
import { idempotencyDefaults } from "../push/publish/idempotency.ts";
import { randomToken } from "../secrets.ts";
import { WorkerBus } from "../workers/worker/worker-bus.ts";
import type { AppContext } from "./app-context.ts";
import { stableInstanceId } from "./instance-id.ts";

export interface Buses {
  /** The logs `broadcast` and `control`. */
  bus: Bus;
  /** Carries `client` and `events` to other services; null: there is no queue. */
  outbound: BrokerBus | null;
  /** Name of this instance, in messages and at the broker. */
  node: string;
}

/** Whether messages go through the queue, to other instances or services. */
function usesQueue(config: Config): boolean {
  const isWanted = config["push.cluster-enabled"] || config["push.queue-client-messages"];
  return config["push.queue.url"] !== undefined && isWanted;
}

/** Name of this instance, in messages and at the broker. */
export async function instanceName(config: Config): Promise<string> {
  if (!usesQueue(config)) return randomToken(6, "hex");
  const faults = await queueFaults(config);
  if (faults.length > 0) throw new ConfigError(faults);
  return stableInstanceId(config["data.dir"], config["push.queue.instance-id"]);
}

/**
 * A single instance uses the local bus, or the bus of its workers. A cluster, or an instance that forwards client messages,
 * uses the queue; each worker is a reader of its own there.
 */
export async function openBuses(context: AppContext, steady: Clock): Promise<Buses> {
  const { config, log, metrics, clock, worker } = context;
  const ownBus = () =>
    worker
      ? new WorkerBus(worker.link, { log, clock: steadyClock })
      : localBus(clock, logFilesOf(context, steady));
  const instance = worker?.node ?? (await instanceName(config));
  const url = config["push.queue.url"];
  if (!url || !usesQueue(config)) return { bus: ownBus(), outbound: null, node: instance };
  const node = worker ? `${instance}.w${worker.worker}` : instance;
  const queue = new BrokerBus(await brokerOf(url, node, config), {
    prefix: config["push.queue.prefix"],
    log,
    clock: steadyClock,
    random: Math.random,
    metrics,
  });
  return { bus: config["push.cluster-enabled"] ? queue : ownBus(), outbound: queue, node };
}

/** Mistakes in the queue settings that depend on several settings or on files. */
export async function queueFaults(config: Config): Promise<ConfigFault[]> {
  const url = config["push.queue.url"];
  if (!url) return [];
  const found = [
    addressFault(url, config["push.queue.sasl"]),
    await authorityFault(config["push.queue.tls-ca"], url),
  ];
  return found.filter((fault) => fault !== null);
}

function addressFault(url: string, sasl: KafkaSasl): ConfigFault | null {
  if (!url.startsWith("kafka")) return null;
  try {
    parseKafkaAddress(url, sasl);
    return null;
  } catch (error) {
    const [, key = "push.queue.url", message = messageOf(error)] =
      /^(push\.queue\.[\w-]+) (.*)$/s.exec(messageOf(error)) ?? [];
    return { key, source: "settings", message };
  }
}

async function authorityFault(file: string | undefined, url: string): Promise<ConfigFault | null> {
  if (file === undefined) return null;
  const fault = (message: string) => ({ key: "push.queue.tls-ca", source: "settings", message });
  if (!/^(amqps|kafkas):/.test(url))
    return fault("is for amqps:// and kafkas://; push.queue.url asks for a connection without TLS");
  try {
    const { X509Certificate } = await import("node:crypto");
    new X509Certificate(await readFile(file));
    return null;
  } catch (error) {
    return fault(`names ${file}, which holds no certificate (PEM) that can be read: ${messageOf(error)}`);
  }
}

async function brokerOf(url: string, instanceId: string, config: Config): Promise<Broker> {
  const authority = config["push.queue.tls-ca"];
  const options = {
    url,
    prefix: config["push.queue.prefix"],
    instanceId,
    isDurable: config["push.queue.durability"] === "durable",
    queuesClientMessages: config["push.queue-client-messages"],
    random: Math.random,
    tlsCa: authority === undefined ? undefined : await readFile(authority, "utf8"),
  };
  // Imported only if used: the Kafka client takes most of the start-up time and half of the memory.
  if (url.startsWith("amqp")) {
    const { rabbitmqBroker } = await import("../bus/rabbitmq/rabbitmq.ts");
    return rabbitmqBroker(options);
  }
  const { kafkaBroker } = await import("../bus/kafka/kafka.ts");
  return kafkaBroker({ ...options, sasl: config["push.queue.sasl"] });
}

/** Of each of the two files; the log of the supervisor keeps as much in memory. */
export const logFileMaxBytes = 64 * 1024 * 1024;

/** How much of each log is read after a restart: for idempotency keys, clients that resume, and presence. */
export function logWindowsMs(config: AppContext["config"]): Record<LogName, number> {
  const broadcast = Math.max(idempotencyDefaults.windowMs, config["push.resume.age"]);
  return { broadcast, control: Math.max(presenceWindowMs, singleUseWindowMs) };
}

/** The files of an instance without a queue. */
export function logFilesOf(context: LogFileContext, steady: Clock): LogFiles {
  if (!context.config["push.log-file"]) return { broadcast: null, control: null };
  const fileOf = (name: LogName) => logFileOf(name, context, steady);
  return { broadcast: fileOf("broadcast"), control: fileOf("control") };
}

type LogFileContext = Pick<AppContext, "config" | "log" | "clock">;

function logFileOf(name: LogName, { config, log, clock }: LogFileContext, steady: Clock): LogFile {
  // With the port, so that gateways with the same data folder have separate files.
  const file = join(config["data.dir"], `push-${name}-${config["server.listen"].port}`);
  let reason = "";
  const warnFault = oncePerSecond(steady, (failed) =>
    log.error(
      { failed, file, reason },
      "the last messages could not be written; after a restart now, clients would not resume",
    ),
  );
  return new LogFile({
    file,
    windowMs: logWindowsMs(config)[name],
    maxBytes: logFileMaxBytes,
    clock,
    steady,
    machine: machineClock(),
    onFault(why) {
      reason = why;
      warnFault();
    },
    onCut(windowMs) {
      log.warn(
        { file, seconds: Math.round(windowMs / 1000) },
        "so much is published that only the messages of this time survive a restart",
      );
    },
  });
}
