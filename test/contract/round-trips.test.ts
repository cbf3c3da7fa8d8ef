import { expect, test } from "bun:test";
import { countRoundTrips } from "../../bench/round-trips.ts";
import { makePostgres, openTestStore } from "../support/databases.ts";
import { deliverTo } from "../support/hook.ts";
import { startHookServer } from "../support/hook-server.ts";
import { serviceUrl } from "../support/services.ts";

const maxRoundTrips = 9;
const deliveries = 40;

const service = await serviceUrl("postgres");

test.skipIf(!service)("an accepted delivery takes at most nine round trips to PostgreSQL", async () => {
  const database = await makePostgres(service ?? "");
  const counter = await countRoundTrips(database.url);
  const store = await openTestStore(counter.url);
  const server = await startHookServer(store);
  const { url } = await server.project({ debounceSeconds: 0, secret: "right" });
  const push = {
    payload: { event: "push", ref: "refs/heads/main" },
    headers: { "X-CICD-Token": "right" },
  };
  const counts: number[] = [];
  for (let each = 0; each < deliveries; each++) {
    const before = counter.count();
    expect((await deliverTo(url, push)).status).toBe(202);
    counts.push(counter.count() - before);
  }
  // Some have queries of each second among them: why a task waits, what is due.
  expect(counts.sort((a, b) => a - b)[deliveries / 2]).toBeLessThanOrEqual(maxRoundTrips);
  await server.stop();
  await store.close();
  counter.stop();
  await database.remove();
});
