import { expect, test } from "bun:test";
import pino from "pino";
import type { Log } from "../../src/bus/log.ts";
import { manualClock } from "../../src/clock.ts";
import type { BroadcastMessage } from "../../src/push/message/message.ts";
import { fingerprintOf, Idempotency, scopedKey } from "../../src/push/publish/idempotency.ts";
import { Publisher } from "../../src/push/publish/publisher.ts";
import { silentTelemetry } from "../../src/telemetry/telemetry.ts";

const request = { targetType: "user" as const, target: "anna", data: "x" };
const orderSeven = { key: "order-7", caller: "shop" };

/** A log that stores at once and is read on demand. */
function publisherOverSlowLog(isConfirmed = () => true) {
  const stored: BroadcastMessage[] = [];
  const clock = manualClock();
  const idempotency = new Idempotency();
  let ids = 0;
  const broadcast: Pick<Log, "append"> = {
    async append(message) {
      stored.push(message as BroadcastMessage);
      if (!isConfirmed()) throw new Error("the broker is away");
      return null;
    },
  };
  const publisher = new Publisher({
    broadcast: broadcast as Log,
    isCluster: true,
    hub: { deferredBytes: 0 },
    trace: { refused: () => {}, answeredAsRepeat: () => {} },
    idempotency,
    clock,
    steady: clock,
    telemetry: silentTelemetry,
    log: pino({ level: "silent" }),
    node: "one",
    newId: () => `id-${++ids}`,
    maxMessageBytes: 1_000,
  });
  let read = 0;
  const readAll = () => {
    for (; read < stored.length; read++) {
      const {
        id,
        caller = "",
        idempotencyKey = "",
        targetType,
        target,
        data,
      } = stored[read] as BroadcastMessage;
      const fingerprint = fingerprintOf({ targetType: targetType, target: target, data: data });
      idempotency.read(scopedKey(caller, idempotencyKey), {
        offset: read,
        id,
        fingerprint,
        atMs: clock.now(),
      });
    }
  };
  return { publisher, readAll, stored, clock };
}

test("of two publishes with one key the first record in the log counts, and both are answered with its id", async () => {
  const { publisher, readAll, stored } = publisherOverSlowLog();
  const both = [publisher.publishOnce(request, orderSeven), publisher.publishOnce(request, orderSeven)];
  const other = publisher.publishOnce({ ...request, data: "y" }, orderSeven);
  expect(stored.map(({ id, seq }) => [id, seq])).toEqual([
    ["id-1", 1],
    ["id-2", 2],
    ["id-3", 3],
  ]);
  readAll();
  expect(await Promise.all(both)).toMatchObject([{ id: "id-1" }, { id: "id-1" }]);
  expect(await other).toMatchObject({ code: 40901 });
  expect(await publisher.publishOnce(request, orderSeven)).toEqual({ id: "id-1", receivers: null });
});

test("a publish that was not confirmed may be repeated; if it was stored, the repeat is answered with its id", async () => {
  let isConfirmed = false;
  const { publisher, readAll } = publisherOverSlowLog(() => isConfirmed);
  await expect(publisher.publishOnce(request, orderSeven)).rejects.toThrow("the broker is away");
  isConfirmed = true;
  const again = publisher.publishOnce(request, orderSeven);
  readAll();
  expect(await again).toMatchObject({ id: "id-1" });
});
