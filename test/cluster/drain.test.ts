import { afterEach, describe, expect, test } from "bun:test";
import { freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { serviceUrl } from "../support/services.ts";
import { openPlain, transports } from "../support/transports.ts";

const broker = await serviceUrl("amqp");
const started: PushApp[] = [];

async function start(prefix: string, instanceId: string): Promise<PushApp> {
  const push = await startPushApp({
    "push.cluster-enabled": true,
    "push.queue.url": broker,
    "push.queue.prefix": prefix,
    "push.queue.instance-id": instanceId,
    "push.drain-delay": 8_000,
    "push.drain-period": 6_000,
  });
  started.push(push);
  return push;
}

afterEach(async () => {
  const [, ...others] = started;
  await Promise.all(others.map((push) => push.app.stop()));
  for (const push of started.splice(0)) await push.verify.stop();
});

describe.skipIf(broker === undefined).each(transports)(
  "beside another instance, a drain of %s",
  (transport) => {
    test("not ready, still serving; then refusing; then all are closed with 1012, and publishes are delivered until the end", async () => {
      const prefix = freshPrefix();
      const [push] = [await start(prefix, "one"), await start(prefix, "two")];
      await eventually(
        "it knows of the other instance",
        async () => (await push.metric("slipway_push_cluster_instances")) === 2,
      );
      const clients = await Promise.all(
        Array.from({ length: 40 }, (_, index) => openPlain(transport, push.url, `?code=user-${index}`)),
      );
      const closedAt: number[] = [];
      for (const client of clients) void client.ended(60_000).then(() => closedAt.push(performance.now()));
      const stopping = push.app.stop();
      expect((await push.get("/readyz")).status).toBe(503);
      expect((await push.get("/livez")).status).toBe(200);
      const late = await openPlain(transport, push.url, "?code=late");
      await push.publish({ targetType: "all", data: "still serving" });
      await late.received(1);

      await eventually("new ones are refused", async () => {
        const answer = await fetch(`${push.url}${transport}?code=x`);
        return answer.status === 503 && answer.headers.has("retry-after");
      });
      let published = 0;
      const publishUntilGone = async () => {
        for (;;) {
          try {
            await push.publish({ targetType: "all", data: `during ${published}` });
            published++;
          } catch {
            return;
          }
          // The load of the drain: some messages in each of its slices.
          await Bun.sleep(10);
        }
      };
      await Promise.all([publishUntilGone(), stopping]);
      for (const client of clients) expect((await client.ended()).code).toBe(1012);
      expect(published).toBeGreaterThan(3);
      // Spread over the period: the first and the last close are far apart.
      expect(Math.max(...closedAt) - Math.min(...closedAt)).toBeGreaterThan(400);
      // Each client received every message until its close, without gaps.
      for (const client of clients) {
        const received = client.frames.filter((frame) => frame.startsWith("during"));
        expect(received).toEqual(received.map((_, index) => `during ${index}`));
      }
    });
  },
);
