import { describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { makeSqlite } from "../support/databases.ts";
import { deliverTo } from "../support/hook.ts";
import { startHookServer } from "../support/hook-server.ts";
import { setUpStore } from "../support/store-setup.ts";

const push = { payload: { event: "push", ref: "refs/heads/main" } };
const settings = { "server.trustedProxies": ["127.0.0.0/8"] };
/** Records of one place per minute: the individual ones, and the record that counts the rest. */
const mostRecords = 601;
const senders = 700;

const { store } = await setUpStore(makeSqlite);

const from = (address: string) => ({ ...push, headers: { "x-forwarded-for": address } });
const addresses: [string, (n: number) => string][] = [
  ["addresses", (n) => `10.${n >> 8}.${n & 255}.1`],
  ["networks of one IPv6 /48", (n) => `2001:db8:1:${n.toString(16)}::1`],
];

describe.each(addresses)("many %s", (_what, addressOf) => {
  test("write a bounded number of records at unknown keys, and all are counted", async () => {
    const clock = manualClock(Date.UTC(2026, 3, 1));
    const server = await startHookServer(store, settings, clock);
    const before = (await store.deliveries.list({ projectId: 0 }, { page: 1, pageSize: 1 })).total;
    const keys = ["a".repeat(48), "no-key"];
    const statuses = new Set();
    for (let n = 0; n < senders; n++)
      statuses.add(
        (await deliverTo(`${server.url}/api/hooks/git/${keys[n % 2]}`, from(addressOf(n)))).status,
      );
    expect([...statuses]).toEqual([404]);
    await server.stop();
    const { items, total } = await store.deliveries.list({ projectId: 0 }, { page: 1, pageSize: 1 });
    expect(total - before).toBe(mostRecords);
    expect(items[0]?.count).toBe(senders - mostRecords + 1);
  });

  test("write a bounded number with wrong signatures at a project, and what the host sends is kept", async () => {
    const clock = manualClock(Date.UTC(2026, 3, 2));
    const server = await startHookServer(store, { ...settings, "webhook.limitPerMinute": 2 }, clock);
    const { id, url } = await server.project({ secret: "right", debounceSeconds: 0 });
    for (let n = 0; n < senders; n++) expect((await deliverTo(url, from(addressOf(n)))).status).toBe(401);
    const right = { ...push, headers: { "X-CICD-Token": "right" } };
    const answers = [];
    for (let n = 0; n < 3; n++) answers.push(await deliverTo(url, right));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 429]);
    const limited = await store.deliveries.byId(Number(answers[2]?.body.deliveryId));
    expect(limited).toMatchObject({ code: "rate_limited", ref: "main", count: 1 });
    await server.stop();
    const { total } = await store.deliveries.list({ projectId: id }, { page: 1, pageSize: 1 });
    expect(total).toBe(mostRecords + 3);
  });
});
