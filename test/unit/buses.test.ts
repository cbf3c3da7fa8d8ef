import { expect, test } from "bun:test";
import pino from "pino";
import { openBuses, queueFaults } from "../../src/app/buses.ts";
import { steadyClock, systemClock } from "../../src/clock.ts";
import type { Config } from "../../src/config/config.ts";
import { ConfigError, configOf } from "../../src/config/config-load.ts";
import { buildMetrics } from "../../src/metrics.ts";
import { silentTelemetry } from "../../src/telemetry/telemetry.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const dataDir = temporaryFolder("buses");

function open(settings: Partial<Config>) {
  const context = {
    config: configOf({ "data.dir": dataDir, ...settings }),
    log: pino({ level: "silent" }),
    metrics: buildMetrics(),
    telemetry: silentTelemetry,
    clock: systemClock,
  };
  return openBuses(context, steadyClock);
}

test("one instance without a queue uses the local bus", async () => {
  const { bus, outbound } = await open({});
  expect([bus.name, outbound]).toEqual(["local", null]);
});

test("client messages alone open the queue for writing only", async () => {
  const { bus, outbound } = await open({
    "push.queue.url": "amqp://127.0.0.1:1",
    "push.queue-client-messages": true,
  });
  expect([bus.name, outbound?.name]).toEqual(["local", "rabbitmq"]);
});

test("in a cluster the queue carries all topics, and the instance name is stable", async () => {
  const settings = { "push.queue.url": "kafka://127.0.0.1:1", "push.cluster-enabled": true };
  const first = await open(settings);
  const second = await open(settings);
  expect(first.bus.name).toBe("kafka");
  expect<unknown>(first.outbound).toBe(first.bus);
  expect(second.node).toBe(first.node);
});

test.each([
  [{ "push.queue.url": "kafka://anna:secret@host" }, "push.queue.url", "names a user"],
  [{ "push.queue.url": "kafka://host", "push.queue.sasl": "plain" as const }, "push.queue.sasl", "no user"],
  [
    { "push.queue.url": "amqps://host", "push.queue.tls-ca": "/nowhere.pem" },
    "push.queue.tls-ca",
    "holds no certificate",
  ],
  [{ "push.queue.url": "amqps://host", "push.queue.tls-ca": import.meta.path }, "push.queue.tls-ca", "PEM"],
  [{ "push.queue.url": "amqp://host", "push.queue.tls-ca": "/ca.pem" }, "push.queue.tls-ca", "without TLS"],
])("a mistake in a queue setting is a ConfigError: %p", async (settings, key, message) => {
  const error = await open({ "push.cluster-enabled": true, ...settings }).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!(error instanceof ConfigError)) throw new Error(`Expected a ConfigError, got ${error}.`);
  expect(error.faults).toEqual([{ key, source: "settings", message: expect.stringContaining(message) }]);
});

test("several mistakes in the queue settings are reported together", async () => {
  const settings = {
    "push.queue.url": "kafkas://host",
    "push.queue.sasl": "plain" as const,
    "push.queue.tls-ca": "/nowhere.pem",
  };
  const faults = await queueFaults(configOf(settings));
  expect(faults.map(({ key }) => key)).toEqual(["push.queue.sasl", "push.queue.tls-ca"]);
});
