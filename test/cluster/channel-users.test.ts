import { afterAll, describe, expect, test } from "bun:test";
import { type BrokerUnderTest, freshPrefix, kafkaUnderTest, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { serviceUrl } from "../support/services.ts";
import { startVerifyService } from "../support/verify-service.ts";
import { startWorkers, v1 } from "../support/worker-instance.ts";

const amqpUrl = await serviceUrl("amqp");
const kafkaUrl = await serviceUrl("kafka");
const verify = startVerifyService();
const stops: (() => Promise<void>)[] = [() => verify.stop()];
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

const room = "presence-room";
const paths = [`/feign/getChannelUsers?channel=${room}`, "/feign/getOnlineUsers?scope=cluster"];

async function usersIn(answer: Promise<Response>): Promise<string> {
  return ((await (await answer).json()) as { data: string[] }).data.sort().join();
}

/** Each of several processes behind one port answers some of these calls. */
async function agreeOn(
  call: (path: string) => Promise<Response>,
  path: string,
  users: string,
  calls: number,
) {
  await eventually(`${path} answers ${users}`, async () => {
    const answers = await Promise.all(Array.from({ length: calls }, () => usersIn(call(path))));
    return answers.every((answer) => answer === users);
  });
}

function over(broker: BrokerUnderTest): void {
  test(`an instance with three workers and another one over ${broker.name} answer the same`, async () => {
    const prefix = freshPrefix();
    const [push, other] = await Promise.all([
      startWorkers(3, {
        "push-verify-uri": verify.url,
        "push-cluster-enabled": "true",
        "push-queue-url": broker.url,
        "push-queue-prefix": prefix,
        "push-queue-instance-id": "workers",
      }),
      startPushApp({
        "push.cluster-enabled": true,
        "push.queue.url": broker.url,
        "push.queue.prefix": prefix,
        "push.queue.instance-id": "other",
      }),
    ]);
    stops.push(
      () => push.stop(),
      () => other.stop(),
    );
    await eventually("the other one is ready", async () => (await other.get("/readyz")).status === 200);
    const anna = await push.openOnEach(`code=anna&channel=${room}`);
    const bert = await PushClient.open(`${other.wsUrl}?code=bert&channel=${room}`, v1);
    const outside = await PushClient.open(`${other.wsUrl}?code=carl`);
    const [channel = "", online = ""] = paths;
    const agree = async (path: string, users: string) => {
      await agreeOn(push.call, path, users, 12);
      await agreeOn(other.get, path, users, 1);
    };
    await agree(channel, "anna,bert");
    await agree(online, "anna,bert,carl");
    await eventually("anna is told of bert on each worker", () =>
      anna.every((client) => client.ofType("memberJoined").some(({ userId }) => userId === "bert")),
    );

    const [first, ...others] = anna;
    first?.close();
    // She is still there by other connections: a wrong change would be known to all by then.
    await Bun.sleep(500);
    await agree(channel, "anna,bert");
    for (const client of others) client.close();
    outside.close();
    await agree(channel, "bert");
    await agree(online, "bert");
    await eventually("bert is told that anna left", () => bert.ofType("memberLeft").length === 1, 15_000);
    expect(bert.ofType("memberLeft")[0]).toEqual({ type: "memberLeft", channel: room, userId: "anna" });
  });
}

describe("users of a presence channel and of the cluster", () => {
  if (amqpUrl) over(rabbitmqUnderTest(amqpUrl));
  if (kafkaUrl) over(kafkaUnderTest(kafkaUrl));
});
