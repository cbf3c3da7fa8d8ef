import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type BrokerUnderTest, freshPrefix, kafkaUnderTest, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { fuzz, mutatedText } from "../support/fuzz.ts";
import { longTest } from "../support/long-test.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { nastyText } from "../support/schema-values.ts";
import { serviceUrl } from "../support/services.ts";

longTest(1_200_000);

const amqpUrl = await serviceUrl("amqp");
const kafkaUrl = await serviceUrl("kafka");

const fields = {
  v: fc.constantFrom<unknown>(1, 2, "1", null),
  id: fc.oneof(nastyText, fc.jsonValue()),
  seq: fc.oneof(fc.integer(), fc.double(), fc.constant("1")),
  ts: fc.oneof(fc.integer(), nastyText),
  node: nastyText,
  targetType: fc.constantFrom<unknown>("all", "user", "temp_user", "channel", "nobody", 7),
  target: fc.oneof(nastyText, fc.constantFrom("friend", "news")),
  data: fc.oneof(nastyText, fc.jsonValue()),
  idempotencyKey: fc.oneof(nastyText, fc.jsonValue()),
  type: fc.constantFrom("kick", "join", "leave", "grant", "presence", "other"),
  userId: fc.oneof(fc.constantFrom("mallory", ""), nastyText),
  channel: nastyText,
  channels: fc.array(nastyText, { maxLength: 3 }),
  code: fc.oneof(fc.integer(), nastyText),
  reason: nastyText,
  revoke: fc.boolean(),
};

const broadcast = {
  v: 1,
  id: "1-a",
  seq: 1,
  ts: 1,
  node: "other",
  targetType: "user",
  target: "x",
  data: "hello",
};
const message = fc.oneof(
  fc.record(fields, { requiredKeys: [] }).map((value) => JSON.stringify(value)),
  mutatedText([
    JSON.stringify(broadcast),
    JSON.stringify({ targetType: "all", target: "", data: "bare" }),
    JSON.stringify({ v: 1, id: "2-b", node: "other", type: "join", userId: "x", channel: "news" }),
    JSON.stringify({ v: 1, id: "3-c", node: "other", type: "presence", kind: "digest", users: 1 }),
  ]),
);

const batchSize = 50;

function hostileQueue(broker: BrokerUnderTest) {
  describe(`over ${broker.name}`, () => {
    const prefix = freshPrefix();
    let push: PushApp;
    let friend: PushClient;
    beforeAll(async () => {
      push = await startPushApp({
        "push.cluster-enabled": true,
        "push.queue.url": broker.url,
        "push.queue.prefix": prefix,
        "push.queue.instance-id": "fuzzed",
      });
      await eventually("it is ready", async () => (await push.get("/readyz")).status === 200);
      friend = await PushClient.open(`${push.wsUrl}?code=friend`);
    });
    afterAll(async () => {
      friend.close();
      await push.stop();
    });

    test("no message of another service stops the gateway, and later messages are delivered", async () => {
      let round = 0;
      await fuzz({
        name: `queue messages, ${broker.name}`,
        inputs: { short: 1_500, long: 100_000 },
        batchSize,
        arbitrary: fc.record({
          topic: fc.constantFrom("broadcast" as const, "control" as const),
          texts: fc.array(message, { minLength: batchSize, maxLength: batchSize }),
        }),
        async check({ topic, texts }) {
          friend.frames.length = 0;
          const marker = `marker ${++round}`;
          await broker.write(prefix, topic, "user:friend", texts);
          const answer = await push.publish({ targetType: "user", target: "friend", data: marker });
          expect(answer.status).toBe(200);
          await eventually("the message behind them arrives", () => friend.frames.includes(marker));
          // Each message is delivered once at most.
          return { used: friend.frames.length, bound: texts.length + 1 };
        },
      });
      expect((await push.get("/readyz")).status).toBe(200);
    }, 1_200_000);
  });
}

if (amqpUrl) hostileQueue(rabbitmqUnderTest(amqpUrl));
if (kafkaUrl) hostileQueue(kafkaUnderTest(kafkaUrl));
