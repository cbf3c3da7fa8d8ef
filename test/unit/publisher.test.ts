import { expect, test } from "bun:test";
import pino from "pino";
import type { Bus } from "../../src/bus/bus.ts";
import { manualClock } from "../../src/clock.ts";
import type { Hub } from "../../src/push/fanout/hub.ts";
import { fingerprintOf, Idempotency, idempotencyDefaults } from "../../src/push/publish/idempotency.ts";
import { Publisher } from "../../src/push/publish/publisher.ts";

const request = { targetType: "user" as const, target: "anna", data: "x" };
const orderKey = { key: "order-7", caller: "" };

/** A broker that confirms at once and delivers on demand. */
function publisherOverSlowBroker(isConfirmed = () => true) {
  const written: unknown[] = [];
  const clock = manualClock();
  const idempotency = new Idempotency(idempotencyDefaults);
  let ids = 0;
  const bus: Partial<Bus> = {
    name: "kafka",
    accepts: () => true,
    publish: async (_topic, _key, message) => {
      written.push(message);
      if (!isConfirmed()) throw new Error("the broker is away");
    },
  };
  const publisher = new Publisher({
    instanceKeys: null,
    bus: bus as Bus,
    hub: { deferredBytes: 0 } as Hub,
    idempotency,
    clock,
    steady: clock,
    log: pino({ level: "silent" }),
    node: "one",
    newId: () => `id-${++ids}`,
    maxMessageBytes: 1_000,
  });
  const readBack = (key: string, id: string) =>
    idempotency.remember(key, id, fingerprintOf("user", "anna", "x"), clock.now());
  return { publisher, readBack, written, clock };
}

test("a repeat before the first message was read back returns the same id", async () => {
  const { publisher, readBack } = publisherOverSlowBroker();
  expect(await publisher.publishOnce(request, orderKey)).toMatchObject({ id: "id-1" });
  expect(await publisher.publishOnce(request, orderKey)).toMatchObject({ id: "id-1" });
  expect(await publisher.publishOnce({ ...request, data: "y" }, orderKey)).toMatchObject({ status: 409 });
  readBack("order-7", "id-1");
  expect(await publisher.publishOnce(request, orderKey)).toMatchObject({ id: "id-1" });
});

test("a publish that the broker did not confirm does not use up its key", async () => {
  let isConfirmed = false;
  const { publisher, written } = publisherOverSlowBroker(() => isConfirmed);
  await expect(publisher.publishOnce(request, orderKey)).rejects.toThrow("the broker is away");
  isConfirmed = true;
  // The broker may have written it: with the same id and number, receivers drop one of the two.
  expect(await publisher.publishOnce(request, orderKey)).toMatchObject({ id: "id-1" });
  expect(written).toMatchObject([
    { id: "id-1", seq: 1 },
    { id: "id-1", seq: 1 },
  ]);
});

test("after an unconfirmed publish, another message may use the key, with an id of its own", async () => {
  let isConfirmed = false;
  const { publisher } = publisherOverSlowBroker(() => isConfirmed);
  await expect(publisher.publishOnce(request, orderKey)).rejects.toThrow("the broker is away");
  isConfirmed = true;
  expect(await publisher.publishOnce({ ...request, data: "y" }, orderKey)).toMatchObject({ id: "id-2" });
});

test("a key that is used again after its window is a new message, also if the first one was not confirmed", async () => {
  let isConfirmed = false;
  const { publisher, clock } = publisherOverSlowBroker(() => isConfirmed);
  await expect(publisher.publishOnce(request, orderKey)).rejects.toThrow("the broker is away");
  clock.advance(idempotencyDefaults.windowMs);
  isConfirmed = true;
  // Receivers that have seen the first id would drop it.
  expect(await publisher.publishOnce(request, orderKey)).toMatchObject({ id: "id-2" });
});
