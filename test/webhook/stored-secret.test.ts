import { expect, test } from "bun:test";
import { setUpHooks } from "../support/api-setup.ts";
import { makeSqlite } from "../support/databases.ts";
import { deliverTo } from "../support/hook.ts";

const secret = "a secret that nobody may read";
const payload = { event: "push", ref: "refs/heads/main" };

const server = await setUpHooks(makeSqlite);

test("the header of the secret is not in the record, the listed ones are", async () => {
  const { url } = await server.project({ secret, secretHeader: "X-Door" });
  const headers = { "X-Door": secret, "X-Delivery-Id": "d-1", "User-Agent": "curl/8" };
  const { body } = await deliverTo(url, { payload, headers });
  const record = await server.store.deliveries.byId(Number(body.deliveryId));
  expect(JSON.stringify(record)).not.toContain(secret);
  expect(record).toMatchObject({
    host_delivery_id: "d-1",
    headers: { "user-agent": "curl/8", "x-delivery-id": "d-1" },
    normalized: { hostDeliveryId: "d-1" },
  });
});
