import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { isMarker } from "../../src/bus/log.ts";
import { readControl } from "../../src/push/message/control-message.ts";
import { readPresenceRecord } from "../../src/push/presence/presence-record.ts";
import { type BrokerUnderTest, freshPrefix, kafkaUnderTest, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { serviceUrl } from "../support/services.ts";

/** Records that two gateways of version 1.0.0 wrote, one of each kind. Never replaced: a later version gets a file of its own. */
const recorded = (await Bun.file(join(import.meta.dir, "../fixtures/records-1.0.0.json")).json()) as {
  broadcast: object[];
  control: Record<string, unknown>[];
};
const [amqpUrl, kafkaUrl] = [await serviceUrl("amqp"), await serviceUrl("kafka")];
const brokers: BrokerUnderTest[] = [
  ...(amqpUrl ? [rabbitmqUnderTest(amqpUrl)] : []),
  ...(kafkaUrl ? [kafkaUnderTest(kafkaUrl)] : []),
];

const stops: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

describe("records of version 1.0.0", () => {
  test("every kind between instances is understood", () => {
    const kinds = recorded.control.map((value) => {
      if (isMarker(value)) return "marker";
      expect([value.type, readControl(value)]).toEqual([value.type, value as never]);
      if (value.type !== "presence") return value.type;
      expect([value.kind, readPresenceRecord(value)]).toEqual([value.kind, value as never]);
      return value.kind;
    });
    expect([...new Set(kinds)].sort()).toEqual(
      [
        ...[
          "answer",
          "askConnections",
          "askMessages",
          "frame",
          "grant",
          "join",
          "kick",
          "leave",
          "marker",
          "use",
        ],
        ...["beat", "changes", "ended", "evict", "list", "reported", "snapshot", "started"],
      ].sort(),
    );
  });

  test.each(brokers)("over $name are delivered, and none is skipped", async (broker) => {
    const prefix = freshPrefix();
    const push = await startPushApp({
      "push.cluster-enabled": true,
      "push.queue.url": broker.url,
      "push.queue.prefix": prefix,
      "push.queue.instance-id": "of-today",
    });
    stops.push(() => push.stop());
    await eventually("it is ready", async () => (await push.get("/readyz")).status === 200);
    const bob = await PushClient.open(`${push.wsUrl}?code=bob&channel=news`);
    const temporary = await PushClient.open(`${push.wsUrl}?code=t&temp=1`);
    stops.push(
      () => bob.close(),
      () => temporary.close(),
    );
    const write = (topic: "broadcast" | "control", values: object[]) =>
      broker.write(
        prefix,
        topic,
        "",
        values.map((value) => JSON.stringify(value)),
      );
    await write("broadcast", recorded.broadcast);
    const toBob = ["to all", "to bob", "to a channel", "to several"];
    await eventually("all arrive", () => bob.frames.length >= toBob.length && temporary.frames.length >= 2);
    expect(bob.frames).toEqual(toBob);
    expect(temporary.frames).toEqual(["to all", "temporary"]);
    const last = { v: 1, id: "last-1", node: "last", type: "kick", userId: "t", code: 4004, reason: "" };
    await write("control", [...recorded.control, last]);
    await eventually("bob is disconnected", () => bob.closed !== null);
    expect(bob.closed).toMatchObject({ code: 4004 });
    await eventually("the last record was read", () => temporary.closed !== null);
    expect(await push.metric("slipway_push_unreadable_total")).toBe(0);
    expect(await push.metric("slipway_push_later_version_total")).toBe(0);
  });
});
