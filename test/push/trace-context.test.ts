import { afterAll, expect, test } from "bun:test";
import { freePort } from "../support/free-port.ts";
import { startCollector, treeOf } from "../support/otlp-collector.ts";
import { startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";

const collector = startCollector();
const push = await startPushApp({ "telemetry.otlp-endpoint": collector.url });
const ann = await PushClient.open(`${push.wsUrl}?code=ann`, ["slipway.v1"]);
await ann.receivedType("welcome");
afterAll(async () => {
  ann.close();
  await push.stop();
  collector.stop();
});

const caller = "b7ad6b7169203331";
const json = "application/json";

/** A caller's span in a trace of its own. */
function callerSpan(flags = "01") {
  const traceId = crypto.randomUUID().replaceAll("-", "");
  return { traceId, headers: { traceparent: `00-${traceId}-${caller}-${flags}` } };
}

const to = (target: string) => ({ targetType: "user", target, data: "hello" });

test("a publish continues the trace of its caller, down to the connections", async () => {
  const { traceId, headers } = callerSpan();
  const response = await push.publish(to("ann"), headers);
  const id = response.headers.get("x-push-id") as string;
  await ann.receivedType("message");
  const wanted = ["(elsewhere) > publish", "(elsewhere) > publish > deliver"];
  const spans = await collector.trace("publish", { "messaging.message.id": id }, wanted);
  expect(treeOf(spans)).toEqual(wanted);
  expect(spans.every((span) => span.traceId === traceId)).toBe(true);
  const [publish, deliver] = ["publish", "deliver"].map((name) => spans.find((span) => span.name === name));
  expect(publish).toMatchObject({
    parentSpanId: caller,
    kind: "producer",
    attributes: { "slipway.push.target_type": "user", "slipway.push.receivers": 1 },
  });
  expect(deliver).toMatchObject({ kind: "consumer", attributes: { "slipway.push.receivers": 1 } });
});

test("so does each message of a batch, and a repeat of an idempotency key", async () => {
  const { traceId, headers } = callerSpan();
  const messages = [to("ann"), { ...to("ann"), idempotencyKey: "order-7" }];
  for (let each = 0; each < 2; each++)
    await fetch(`${push.url}/feign/publishBatch`, {
      method: "POST",
      headers: { "content-type": json, ...headers },
      body: JSON.stringify({ messages }),
    });
  const delivered = "(elsewhere) > publish > deliver";
  const published = "(elsewhere) > publish";
  const wanted = [published, published, published, published, delivered, delivered, delivered];
  await collector.wait(traceId, wanted);
  expect(treeOf(collector.ofTrace(traceId))).toEqual(wanted);
});

test("a publish that fails says so in its span", async () => {
  const { traceId, headers } = callerSpan();
  const response = await push.publish({ ...to("ann"), data: "x".repeat(2_000_000) }, headers);
  expect(response.status).toBe(413);
  await collector.wait(traceId, ["(elsewhere) > publish"]);
  expect(collector.ofTrace(traceId)).toMatchObject([{ fault: expect.stringContaining("larger") }]);
});

test("a caller without a trace, or with an unsampled one, causes no spans", async () => {
  const unsampled = callerSpan("00");
  await push.publish(to("ann"), unsampled.headers);
  const before = collector.spans.length;
  await push.publish(to("ann"));
  await push.publish(to("ann"), { traceparent: "no trace" });
  const last = callerSpan();
  await push.publish(to("ann"), last.headers);
  await collector.wait(last.traceId, ["(elsewhere) > publish > deliver"]);
  expect(collector.spans.length - before).toBe(2);
  expect(collector.ofTrace(unsampled.traceId)).toEqual([]);
});

test("an unreachable collector prevents nothing", async () => {
  const alone = await startPushApp({ "telemetry.otlp-endpoint": `http://127.0.0.1:${freePort()}` });
  const bob = await PushClient.open(`${alone.wsUrl}?code=bob`, ["slipway.v1"]);
  await bob.receivedType("welcome");
  const response = await alone.publish(to("bob"), callerSpan().headers);
  expect(response.headers.get("x-push-receivers")).toBe("1");
  await bob.receivedType("message");
  bob.close();
  await alone.stop();
});
