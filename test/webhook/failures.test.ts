import { describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { operation, type Store } from "../../src/model/store.ts";
import { type AcceptInput, acceptDelivery } from "../../src/webhook/decide/decide-delivery.ts";
import { recordRefusal } from "../../src/webhook/decide/record.ts";
import { availableDatabases, makeSqlite } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { deliverTo } from "../support/hook.ts";
import { type HookServer, startHookServer } from "../support/hook-server.ts";
import { sampleDelivery } from "../support/samples.ts";
import { runOf, setUpStore } from "../support/store-setup.ts";

const push = { payload: { event: "push", ref: "refs/heads/main" } };

const { store } = await setUpStore(makeSqlite);

async function withServer<T>(over: Store, work: (server: HookServer) => Promise<T>): Promise<T> {
  const server = await startHookServer(over);
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** A store whose parts break on demand: the decision about a delivery, or the record of a refusal. */
function breaking(parts: { create?: () => boolean; run?: () => boolean }): Store {
  const away = () => Promise.reject(new Error("disk I/O error"));
  const { create } = store.deliveries;
  return {
    ...store,
    run: runOf((operation, input, lock) => {
      const isAway =
        (operation === acceptDelivery && parts.run?.()) || (operation === recordRefusal && parts.create?.());
      return isAway ? away() : store.run(operation, input, lock);
    }),
    deliveries: { ...store.deliveries, create: (record) => (parts.create?.() ? away() : create(record)) },
  };
}

describe("a failure inside", () => {
  test("that prevents the task is answered 500 and recorded as failed, without a task", async () => {
    await withServer(breaking({ run: () => true }), async (server) => {
      const { id, url } = await server.project();
      const answer = await deliverTo(url, push);
      expect(answer.status).toBe(500);
      expect(answer.body).toMatchObject({ status: "failed", code: "internal_error", queued: false });
      expect(JSON.stringify(answer.body)).not.toContain("disk");
      const record = await store.deliveries.byId(Number(answer.body.deliveryId));
      expect(record).toMatchObject({ status: "failed", code: "internal_error", task_id: 0, project_id: id });
      expect(record?.normalized?.rawRef).toBe("refs/heads/main");
      expect((await store.tasks.list({ projectId: id }, { page: 1, pageSize: 10 })).total).toBe(0);
    });
  });

  test("with the database away is answered 500 with deliveryId 0, and logged", async () => {
    let isAway = false;
    const isBroken = () => isAway;
    await withServer(breaking({ run: isBroken, create: isBroken }), async (server) => {
      const { url } = await server.project();
      isAway = true;
      const answer = await deliverTo(url, push);
      expect([answer.status, answer.body.deliveryId, answer.body.status]).toEqual([500, 0, "failed"]);
      expect(server.logLines.filter((line) => line.includes("disk I/O error")).length).toBeGreaterThan(0);
      const unknown = await deliverTo(`${server.url}/api/hooks/git/${"0".repeat(48)}`, push);
      expect([unknown.status, unknown.body.deliveryId]).toEqual([500, 0]);
      isAway = false;
      expect((await deliverTo(url, push)).status).toBe(202);
    });
  });

  test("to decrypt a secret is failed, never 'no secret'", async () => {
    await withServer(store, async (server) => {
      const { id, url } = await server.project({ secret: "right" });
      const config = await store.webhookConfigs.ofProject(id);
      if (!config) throw new Error("no configuration");
      await store.webhookConfigs.save({ ...config, secret: "v1.AAAA", updatedAt: new Date(Date.now() + 5) });
      const answer = await withServer(store, (fresh) =>
        deliverTo(`${fresh.url}${new URL(url).pathname}`, { ...push, headers: { "X-CICD-Token": "right" } }),
      );
      expect([answer.status, answer.body.status, answer.body.code]).toEqual([
        500,
        "failed",
        "internal_error",
      ]);
      const record = await store.deliveries.byId(Number(answer.body.deliveryId));
      expect(record?.reason).toMatch(/secret/);
      expect(record?.project_id).toBe(id);
    });
  });

  test("sends no notification for a task that was rolled back, and one for each other task", async () => {
    let isBroken = true;
    await withServer(breaking({ run: () => isBroken }), async (server) => {
      const { url } = await server.project();
      await deliverTo(url, push);
      isBroken = false;
      await deliverTo(url, push);
      expect(server.told.map(({ status }) => status)).toEqual(["failed", "accepted"]);
      const metrics = await server.metrics.metrics();
      expect(metrics).toContain('slipway_webhook_deliveries_total{status="accepted",code="accepted"} 1');
      expect(metrics).toContain('slipway_webhook_deliveries_total{status="failed",code="internal_error"} 1');
    });
  });
});

/** Only where several instances share the database can a task be claimed while a delivery is decided. */
describe.each((await availableDatabases()).filter(({ name }) => name === "PostgreSQL"))(
  "on $name",
  ({ make }) => {
    test("a delivery whose debounced task is claimed during the decision creates a new task", async () => {
      const database = await make();
      const [shared, other] = [await database.open(), await database.open()];
      let claimFirst: (() => Promise<unknown>) | null = null;
      const racing = operation("acceptDelivery", (keepers, input: AcceptInput) =>
        acceptDelivery.run(
          {
            ...keepers,
            tasks: {
              ...keepers.tasks,
              async hold(id) {
                await claimFirst?.();
                claimFirst = null;
                return keepers.tasks.hold(id);
              },
            },
          },
          input,
        ),
      );
      const over: Store = {
        ...shared,
        run: runOf((given, input, lock) =>
          given === acceptDelivery
            ? shared.run(racing, input as AcceptInput, lock)
            : shared.run(given, input, lock),
        ),
      };
      await withServer(over, async (server) => {
        const { id, url } = await server.project({ debounceSeconds: 60 });
        const first = await deliverTo(url, push);
        const claimed = Number(first.body.taskId);
        claimFirst = () =>
          other.tasks.change(claimed, {
            whileIn: ["queued"],
            set: { state: "dispatched", leaseHash: "lease" },
          });
        const second = await deliverTo(url, { payload: { ...push.payload, commit: "b".repeat(40) } });
        expect([second.status, second.body.status]).toEqual([202, "accepted"]);
        expect(Number(second.body.taskId)).toBeGreaterThan(claimed);
        const record = await shared.deliveries.byId(Number(second.body.deliveryId));
        const debounce = record?.trace.filter(({ step }) => step === "debounce");
        expect(debounce).toMatchObject([{ result: "pass", detail: { code: "debounce_full" } }]);
        expect((await shared.tasks.byId(claimed))?.commit).toBeNull();
        expect((await shared.tasks.list({ projectId: id }, { page: 1, pageSize: 10 })).total).toBe(2);
      });
      await database.remove();
    });
  },
);

describe("floods", () => {
  test("at unknown keys: 60 records per minute and address, the rest is one record with a count", async () => {
    const clock = manualClock();
    const server = await startHookServer(store, {}, clock);
    const from = new Date(clock.now());
    const unknown = `${server.url}/api/hooks/git/${"f".repeat(48)}`;
    const ids: unknown[] = [];
    for (let index = 0; index < 100; index++) ids.push((await deliverTo(unknown, push)).body.deliveryId);
    expect(new Set(ids.slice(0, 61)).size).toBe(61);
    expect(new Set(ids.slice(60)).size).toBe(1);
    await server.part.close();
    const surplus = await store.deliveries.byId(Number(ids[99]));
    expect(surplus).toMatchObject({ count: 40, code: "endpoint_not_found", project_id: 0 });
    clock.advance(60_000);
    expect((await deliverTo(unknown, push)).body.deliveryId).not.toBe(ids[99]);
    const to = new Date(clock.now() + 1);
    expect((await store.deliveries.list({ from, to }, { page: 1, pageSize: 1 })).total).toBe(62);
    await server.stop();
  });

  test("from one IPv6 network count as one address, at unknown keys and with wrong signatures", async () => {
    const clock = manualClock(Date.UTC(2026, 6, 1));
    const settings = { "server.trustedProxies": ["127.0.0.0/8"], "webhook.limitPerMinute": 5 };
    const server = await startHookServer(store, settings, clock);
    const from = (host: number) => ({ ...push, headers: { "x-forwarded-for": `2001:db8:1:2::${host}` } });
    const unknown = `${server.url}/api/hooks/git/${"e".repeat(48)}`;
    const ids = new Set();
    for (let hit = 0; hit < 100; hit++) ids.add((await deliverTo(unknown, from(hit))).body.deliveryId);
    expect(ids.size).toBe(61);
    const [first] = ids;
    expect((await store.deliveries.byId(Number(first)))?.remote_ip).toBe("2001:db8:1:2::0");
    const { url } = await server.project({ secret: "right" });
    const statuses = [];
    for (let hit = 0; hit < 7; hit++) statuses.push((await deliverTo(url, from(hit))).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    const elsewhere = { ...push, headers: { "x-forwarded-for": "2001:db8:1:3::1" } };
    expect((await deliverTo(url, elsewhere)).status).toBe(401);
    await server.stop();
  });

  test("of bodies that are too large are counted in one record too", async () => {
    const clock = manualClock(Date.UTC(2026, 7, 1));
    const server = await startHookServer(store, { "webhook.maxBodyKB": 1 }, clock);
    const { id, url } = await server.project();
    for (let hit = 0; hit < 70; hit++)
      expect((await deliverTo(url, { body: "x".repeat(1025) })).status).toBe(413);
    await server.stop();
    const { items, total } = await store.deliveries.list({ projectId: id }, { page: 1, pageSize: 200 });
    expect(total).toBe(61);
    expect(items.reduce((sum, { count }) => sum + count, 0)).toBe(70);
  });

  test("over the limit: the first keep their event for a replay, all are answered 429", async () => {
    const clock = manualClock(Date.UTC(2026, 5, 1));
    const server = await startHookServer(store, { "webhook.limitPerMinute": 2 }, clock);
    const { id, url } = await server.project({ debounceSeconds: 0 });
    const answers = [];
    for (let index = 0; index < 72; index++) answers.push(await deliverTo(url, push));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, ...Array.from({ length: 70 }, () => 429)]);
    await server.stop();
    const { items, total } = await store.deliveries.list({ projectId: id }, { page: 1, pageSize: 200 });
    expect(total).toBe(2 + 60 + 1);
    expect(items.reduce((sum, { count }) => sum + count, 0)).toBe(72);
    const limited = await store.deliveries.byId(Number(answers[2]?.body.deliveryId));
    expect(limited).toMatchObject({ code: "rate_limited", ref: "main" });
    expect(limited?.normalized).not.toBeNull();
  });

  test("at one project do not affect the records of another", async () => {
    const server = await startHookServer(store, {}, manualClock(Date.UTC(2026, 9, 1)));
    const [flooded, other] = [await server.project(), await server.project()];
    for (const { id } of [flooded, other])
      await server.part.management.save(id, { enabled: false }, () => null);
    for (let hit = 0; hit < 70; hit++) await deliverTo(flooded.url, push);
    const { deliveryId } = (await deliverTo(other.url, push)).body;
    await server.stop();
    expect(await store.deliveries.byId(Number(deliveryId))).toMatchObject({
      project_id: other.id,
      code: "webhook_disabled",
      count: 1,
    });
  });

  test("of failed signatures have a separate limit per address and do not use the project's rate", async () => {
    const server = await startHookServer(store, { "webhook.limitPerMinute": 5 }, manualClock());
    const { url } = await server.project({ secret: "right", debounceSeconds: 0 });
    const statuses = [];
    for (let index = 0; index < 8; index++) statuses.push((await deliverTo(url, push)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    const right = await deliverTo(url, { ...push, headers: { "X-CICD-Token": "right" } });
    expect(right.status).toBe(202);
    await server.stop();
  });
});

describe("the project's rate", () => {
  test("is not used up by deliveries with a lock timeout (429)", async () => {
    let isStalled = true;
    const dense: Store = {
      ...store,
      run: runOf(async (operation, input, lock) =>
        isStalled && operation === acceptDelivery ? "timeout" : store.run(operation, input, lock),
      ),
    };
    const server = await startHookServer(dense, { "webhook.limitPerMinute": 2 }, manualClock());
    const { url } = await server.project({ debounceSeconds: 0 });
    const codes = async () => (await deliverTo(url, push)).body.code;
    expect([await codes(), await codes(), await codes()]).toEqual(Array(3).fill("lock_timeout"));
    expect((await deliverTo(url, { body: "no JSON" })).body.code).toBe("lock_timeout");
    isStalled = false;
    expect([await codes(), await codes(), await codes()]).toEqual(["accepted", "accepted", "rate_limited"]);
    await server.stop();
  });

  test("is not used by wrong signatures while the webhook is read", async () => {
    const limit = 3;
    const waiting: (() => void)[] = [];
    let isStalled = false;
    const slow: Store = {
      ...store,
      webhookConfigs: {
        ...store.webhookConfigs,
        async byKey(key) {
          if (isStalled) await new Promise<void>((resolve) => void waiting.push(resolve));
          return store.webhookConfigs.byKey(key);
        },
      },
    };
    const server = await startHookServer(slow, { "webhook.limitPerMinute": limit });
    const { url } = await server.project({ secret: "right", debounceSeconds: 0 });
    const right = { ...push, headers: { "X-CICD-Token": "right" } };
    expect((await deliverTo(url, right)).status).toBe(202);
    isStalled = true;
    const wrong = Array.from({ length: limit }, () => deliverTo(url, push));
    await eventually("all wrong ones wait", () => waiting.length === limit);
    isStalled = false;
    expect((await deliverTo(url, right)).status).toBe(202);
    for (const resume of waiting) resume();
    expect((await Promise.all(wrong)).map(({ status }) => status)).toEqual(Array(limit).fill(401));
    await server.stop();
  });
});

describe("retention", () => {
  test("deletes what is older than deliveryRetentionDays, in batches, and nothing else", async () => {
    const clock = manualClock(Date.UTC(2027, 0, 31));
    const server = await startHookServer(store, { "webhook.deliveryRetentionDays": 30 }, clock);
    const limit = clock.now() - 30 * 86_400_000;
    for (let batch = 0; batch < 12; batch++)
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          store.deliveries.create(
            sampleDelivery({ project_id: 4711, created_at: new Date(limit - 1 - batch * 100 - index) }),
          ),
        ),
      );
    const kept = await store.deliveries.create(
      sampleDelivery({ project_id: 4711, created_at: new Date(limit) }),
    );
    server.part.start();
    await server.part.cleaned();
    const { items, total } = await store.deliveries.list({ projectId: 4711 }, { page: 1, pageSize: 10 });
    expect([total, items[0]?.id]).toEqual([1, kept]);
    await server.stop();
  });
});
