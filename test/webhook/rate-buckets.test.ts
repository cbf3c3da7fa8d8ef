import { afterAll, describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { availableDatabases, makeSqlite } from "../support/databases.ts";
import { deliverTo } from "../support/hook.ts";
import { type HookServer, startHookServer } from "../support/hook-server.ts";

const push = { payload: { event: "push", ref: "refs/heads/main" } };
const tag = { payload: { event: "tag", ref: "refs/tags/v1" } };
const limit = 3;

describe.each(await availableDatabases())("the rate on $name", ({ name, make }) => {
  const stops: (() => Promise<unknown>)[] = [];
  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop();
  });

  /** Servers on one database: each has its own count, and on PostgreSQL they share another. */
  async function start(servers: number): Promise<HookServer[]> {
    const database = await make();
    stops.push(() => database.remove());
    const store = await database.open();
    const started: HookServer[] = [];
    for (let n = 0; n < servers; n++) {
      const server = await startHookServer(store, { "webhook.limitPerMinute": limit });
      stops.push(() => server.stop());
      started.push(server);
    }
    return started;
  }

  /** Sends to the servers in turn. */
  async function codes(servers: HookServer[], url: string, deliveries: object[]): Promise<unknown[]> {
    const path = new URL(url).pathname;
    const found: unknown[] = [];
    for (const [index, delivery] of deliveries.entries()) {
      const { url: origin } = servers[index % servers.length] as HookServer;
      found.push((await deliverTo(`${origin}${path}`, delivery)).body.code);
    }
    return found;
  }

  test("events that a project does not listen to do not use the rate of the others", async () => {
    const servers = await start(1);
    const { id, url } = (await servers[0]?.project({ debounceSeconds: 0 })) ?? { id: 0, url: "" };
    const unlisted = [
      tag,
      { payload: { event: "push", ref: "refs/heads/gone", commit: "0".repeat(40) } },
      { payload: { event: "ping" } },
      { payload: { event: "issue", ref: "x" } },
      tag,
    ];
    expect(await codes(servers, url, unlisted)).toEqual([
      "event_not_allowed",
      "ref_deleted",
      "probe",
      "rate_limited",
      "rate_limited",
    ]);
    expect(await codes(servers, url, [push, push, push, push])).toEqual([
      "accepted",
      "accepted",
      "accepted",
      "rate_limited",
    ]);
    const store = servers[0]?.store;
    const filter = { projectId: id, code: "rate_limited" as const };
    const refused = await store?.deliveries.list(filter, { page: 1, pageSize: 10 });
    expect(refused?.items.map(({ event, http_status, reason }) => [event, http_status, reason])).toEqual([
      ["push", 429, { code: "rate_limited", values: { limit: "3" } }],
      ["tag", 429, { code: "rate_limited_unlisted", values: { limit: "3" } }],
      ["", 429, { code: "rate_limited_unlisted", values: { limit: "3" } }],
    ]);
  });

  test("pushes do not use the rate of other events either, and a listed event counts as listed", async () => {
    const servers = await start(1);
    const { id, url } = (await servers[0]?.project({ debounceSeconds: 0 })) ?? { id: 0, url: "" };
    expect(await codes(servers, url, [push, push, push, push, tag])).toEqual([
      "accepted",
      "accepted",
      "accepted",
      "rate_limited",
      "event_not_allowed",
    ]);
    await servers[0]?.part.management.save(id, { events: ["tag"] }, () => null);
    expect(await codes(servers, url, [tag, push])).toEqual(["rate_limited", "event_not_allowed"]);
  });

  // One server per SQLite file: only PostgreSQL has several.
  if (name === "PostgreSQL")
    test("over several servers is one rate for each bucket", async () => {
      const servers = await start(2);
      const { url } = (await servers[0]?.project({ debounceSeconds: 0 })) ?? { url: "" };
      for (const [delivery, code] of [
        [tag, "event_not_allowed"],
        [push, "accepted"],
      ] as const)
        expect(await codes(servers, url, Array(4).fill(delivery))).toEqual([
          ...Array(3).fill(code),
          "rate_limited",
        ]);
    });
});

test("130 tags do not prevent a push to main from building", async () => {
  const database = await makeSqlite();
  const server = await startHookServer(await database.open(), {}, manualClock());
  const { url } = await server.project({ debounceSeconds: 0 });
  const tags = [];
  for (let n = 0; n < 130; n++)
    tags.push((await deliverTo(url, { payload: { event: "tag", ref: `refs/tags/v${n}` } })).status);
  expect(tags.filter((status) => status === 429)).toHaveLength(10);
  expect((await deliverTo(url, push)).status).toBe(202);
  await server.stop();
  await database.remove();
});
