import type { DeliveryKeeper } from "../model/delivery.ts";

/** About 5 ms of work on SQLite, during which all writes wait. */
const batchSize = 100;

/** Deletes delivery records that are older than `before`. */
export async function* expiredDeliveries(
  deliveries: Pick<DeliveryKeeper, "deleteOlderThan">,
  before: Date,
): AsyncGenerator<number> {
  for (;;) {
    const deleted = await deliveries.deleteOlderThan(before, batchSize);
    yield deleted;
    if (deleted < batchSize) return;
  }
}
