import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { freshPrefix } from "../support/buses.ts";
import { startCollector, treeOf } from "../support/otlp-collector.ts";
import { PushClient } from "../support/push-client.ts";
import { type PushProcess, startPushProcess } from "../support/push-process.ts";
import { serviceUrl } from "../support/services.ts";
import { startVerifyService } from "../support/verify-service.ts";
import { startWorkers } from "../support/worker-instance.ts";

const amqp = await serviceUrl("amqp");

describe.skipIf(amqp === undefined)("a trace over RabbitMQ", () => {
  const collector = startCollector();
  const verify = startVerifyService();
  let instances: PushProcess[] = [];

  beforeAll(async () => {
    const prefix = freshPrefix();
    instances = await Promise.all(
      ["one", "two"].map((name) =>
        startPushProcess(name, {
          "push-cluster-enabled": "true",
          "push-queue-url": amqp ?? "",
          "push-queue-prefix": prefix,
          "push-queue-instance-id": name,
          "push-verify-uri": verify.url,
          "telemetry-otlp-endpoint": collector.url,
          "telemetry-service-name": name,
        }),
      ),
    );
  });

  afterAll(async () => {
    await Promise.all(instances.map((instance) => instance.stop()));
    await verify.stop();
    collector.stop();
  });

  test("continues on the instance that delivers", async () => {
    const [one, two] = instances;
    const ann = await PushClient.open(`${two?.url.replace("http", "ws")}/ws?code=ann`, ["slipway.v1"]);
    await ann.receivedType("welcome");
    const traceId = crypto.randomUUID().replaceAll("-", "");
    const response = await fetch(`${one?.url}/feign/publish`, {
      method: "POST",
      headers: { "content-type": "application/json", traceparent: `00-${traceId}-${"b".repeat(16)}-01` },
      body: JSON.stringify({ targetType: "user", target: "ann", data: "hello" }),
    });
    expect(response.status).toBe(200);
    await ann.receivedType("message");
    ann.close();
    const wanted = ["(elsewhere) > publish", "(elsewhere) > publish > deliver"];
    await collector.wait(traceId, wanted);
    const spans = collector.ofTrace(traceId);
    expect(treeOf(spans)).toEqual(wanted);
    expect(spans.map(({ name, service }) => `${name} on ${service}`).sort()).toEqual([
      "deliver on two",
      "publish on one",
    ]);
  });
});

test("every worker of an instance adds its deliveries to the trace", async () => {
  const collector = startCollector();
  const verify = startVerifyService();
  const instance = await startWorkers(2, {
    "push-verify-uri": verify.url,
    "telemetry-otlp-endpoint": collector.url,
  });
  const clients = await instance.openOnEach("code=ann");
  const traceId = crypto.randomUUID().replaceAll("-", "");
  const traceparent = `00-${traceId}-${"b".repeat(16)}-01`;
  await instance.publish({ targetType: "user", target: "ann", data: "hello" }, { traceparent });
  const delivered = "(elsewhere) > publish > deliver";
  const wanted = ["(elsewhere) > publish", delivered, delivered];
  await collector.wait(traceId, wanted);
  expect(treeOf(collector.ofTrace(traceId))).toEqual(wanted);
  for (const client of clients) client.close();
  await instance.stop();
  await verify.stop();
  collector.stop();
});
