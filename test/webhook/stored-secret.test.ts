import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { deliveryKinds } from "../../src/webhook/decide/delivery-kind.ts";
import { makeSqlite, type TestDatabase } from "../support/databases.ts";
import { deliverTo } from "../support/hook.ts";
import { type HookServer, startHookServer } from "../support/hook-server.ts";

const secret = "a secret that nobody may read";
const payload = { event: "push", ref: "refs/heads/main" };

let database: TestDatabase;
let server: HookServer;
beforeAll(async () => {
  database = await makeSqlite();
  server = await startHookServer(await database.open());
});
afterAll(async () => {
  await server.stop();
  await database.remove();
});

/** Saved directly in the store: the management API refuses these names now. */
describe.each(["User-Agent", "Content-Encoding", "X-Delivery-Id", "idempotency-key", "webhook-id"])(
  "the secret is not stored where its header is %s, in a configuration saved before",
  (secretHeader) => {
    test("of a delivery", async () => {
      const { url } = await server.project({ secret, secretHeader });
      const headers = { [secretHeader]: secret, "X-Other": "kept by nobody" };
      const answer = await deliverTo(url, { payload, headers });
      const record = await server.store.deliveries.byId(Number(answer.body.deliveryId));
      expect(record?.trace).toContainEqual(expect.objectContaining({ step: "signature", result: "pass" }));
      expect(JSON.stringify(record)).not.toContain(secret);
      expect(record?.headers).toMatchObject({ "content-type": "application/json" });
    });

    test("of a test delivery with a host's headers", async () => {
      const { id } = await server.project({ secret, secretHeader });
      const { projects, webhookConfigs, deliveries } = server.store;
      const [project, config] = [await projects.byId(id), await webhookConfigs.ofProject(id)];
      if (project === null || config === null) throw new Error("no project");
      const input = { payload, headers: { [secretHeader]: secret } };
      const answer = await server.part.tests.run(project, config, input, "ann", new Date());
      const record = await deliveries.byId(answer.body.deliveryId);
      expect(record?.remote_ip).toBe(deliveryKinds.test.remoteIp);
      expect(JSON.stringify(record)).not.toContain(secret);
    });
  },
);

test("the other headers stay in the record", async () => {
  const { url } = await server.project({ secret, secretHeader: "X-Door" });
  const headers = { "X-Door": secret, "X-Delivery-Id": "d-1", "User-Agent": "curl/8" };
  const { body } = await deliverTo(url, { payload, headers });
  expect(await server.store.deliveries.byId(Number(body.deliveryId))).toMatchObject({
    host_delivery_id: "d-1",
    headers: { "user-agent": "curl/8", "x-delivery-id": "d-1" },
    normalized: { hostDeliveryId: "d-1" },
  });
});
