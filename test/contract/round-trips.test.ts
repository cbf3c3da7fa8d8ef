import { expect, test } from "bun:test";
import { countRoundTrips } from "../../bench/round-trips.ts";
import { makePostgres, openTestStore } from "../support/databases.ts";
import { deliverTo } from "../support/hook.ts";
import { startHookServer } from "../support/hook-server.ts";
import { serviceUrl } from "../support/services.ts";

const maxRoundTrips = 9;

const service = await serviceUrl("postgres");

test.skipIf(!service)("an accepted delivery takes at most nine round trips to PostgreSQL", async () => {
  const database = await makePostgres(service ?? "");
  const counter = await countRoundTrips(database.url);
  const store = await openTestStore(counter.url);
  const server = await startHookServer(store);
  const urls: string[] = [];
  for (let each = 0; each < 20; each++)
    urls.push((await server.project({ debounceSeconds: 0, secret: "right" })).url);
  const push = {
    payload: { event: "push", ref: "refs/heads/main" },
    headers: { "X-CICD-Token": "right" },
  };
  const deliver = async (url: string) => expect((await deliverTo(url, push)).status).toBe(202);
  // The hooks and projects are read once, and why a task waits once a second.
  const tripsOf = async (given: string[]) => {
    const before = counter.count();
    await Promise.all(given.map(deliver));
    return counter.count() - before;
  };
  await tripsOf(urls);
  expect(await tripsOf(urls.slice(0, 1))).toBeLessThanOrEqual(maxRoundTrips);
  // The queries of each second are among them, and on a slow machine there are several seconds.
  const counts = [await tripsOf(urls), await tripsOf(urls), await tripsOf(urls)];
  expect(Math.min(...counts)).toBeLessThanOrEqual(maxRoundTrips * urls.length);
  await server.stop();
  await store.close();
  counter.stop();
  await database.remove();
});
