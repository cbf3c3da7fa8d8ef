import { afterAll, describe, expect, test } from "bun:test";
import { makeSqlite } from "../support/databases.ts";
import { deliverTo } from "../support/hook.ts";
import { startHookServer } from "../support/hook-server.ts";

const push = { payload: { event: "push", ref: "refs/heads/main" } };

/** How many of the next reads fail. */
let failing = 0;

const database = await makeSqlite();
const store = await database.open();
const away = () => Promise.reject(new Error("connection terminated unexpectedly"));
const server = await startHookServer({
  ...store,
  webhookConfigs: {
    ...store.webhookConfigs,
    byKey: (key) => (failing-- > 0 ? away() : store.webhookConfigs.byKey(key)),
  },
});
afterAll(async () => {
  await server.stop();
  await database.remove();
});

const recordOf = (answer: { body: Record<string, unknown> }) =>
  store.deliveries.byId(Number(answer.body.deliveryId));

describe("a look-up of the key that fails", () => {
  test("once is retried, and the delivery is accepted", async () => {
    const { url } = await server.project({ debounceSeconds: 0 });
    failing = 1;
    expect((await deliverTo(url, push)).status).toBe(202);
  });

  test("twice is recorded at the project of the key", async () => {
    const { id, url } = await server.project();
    failing = 2;
    const answer = await deliverTo(url, push);
    expect(answer.status).toBe(500);
    expect(await recordOf(answer)).toMatchObject({ project_id: id, status: "failed", provider: "generic" });
  });

  test("at an unknown key is recorded without a project", async () => {
    failing = 2;
    const answer = await deliverTo(`${server.url}/api/hooks/git/${"d".repeat(48)}`, push);
    expect(answer.status).toBe(500);
    expect(await recordOf(answer)).toMatchObject({ project_id: 0, status: "failed" });
  });
});
