import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import pg from "pg";
import { type ApiServer, startApiServer } from "../support/api-server.ts";
import { makePostgres, type TestDatabase } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { deliverTo, makeHook, tasksOf } from "../support/hook.ts";
import { startPostgres } from "../support/postgres.ts";
import type { RunningService } from "../support/service-process.ts";
import { serviceUrl } from "../support/services.ts";

const push = { payload: { event: "push", ref: "refs/heads/main" } };

async function isReady(server: ApiServer): Promise<boolean> {
  return (await server.anonymous.request("GET", "/readyz")).status === 200;
}

const hasPostgres = (await serviceUrl("postgres")) !== undefined;

describe.skipIf(!hasPostgres)("a PostgreSQL that restarts", () => {
  let postgres: RunningService;
  let server: ApiServer;
  beforeAll(async () => {
    postgres = await startPostgres();
    server = await startApiServer({ "database.url": postgres.url });
  });
  afterAll(async () => {
    await server.stop();
    await postgres.stop();
  });

  test("the first delivery after /readyz is 200 again is accepted", async () => {
    const { projectId, deliver } = await makeHook(server, { debounceSeconds: 0 });
    expect((await deliver(push)).status).toBe(202);
    const restarts = 3;
    for (let restart = 1; restart <= restarts; restart++) {
      await postgres.restart();
      await eventually("ready again", () => isReady(server));
      const first = await deliver(push);
      expect([restart, first.status, first.body.code]).toEqual([restart, 202, "accepted"]);
    }
    expect(await tasksOf(server.admin, projectId)).toHaveLength(restarts + 1);
  });

  test("deliveries of many projects right after the restart are accepted, whichever idle connection they get", async () => {
    const hooks = await Promise.all(
      Array.from({ length: 12 }, () => makeHook(server, { debounceSeconds: 0 })),
    );
    const statuses = async () =>
      (await Promise.all(hooks.map(({ deliver }) => deliver(push)))).map(({ status }) => status);
    expect(new Set(await statuses())).toEqual(new Set([202]));
    await postgres.restart();
    await eventually("ready again", () => isReady(server));
    expect(new Set(await statuses())).toEqual(new Set([202]));
  });
});

describe.skipIf(!hasPostgres)("a connection that is lost while a delivery is decided", () => {
  let database: TestDatabase;
  let servers: ApiServer[];
  let admin: pg.Client;
  beforeAll(async () => {
    database = await makePostgres((await serviceUrl("postgres")) ?? "");
    servers = [
      await startApiServer({ "database.url": database.url, "data.encryptionKey": "0".repeat(64) }),
      await startApiServer({ "database.url": database.url, "data.encryptionKey": "0".repeat(64) }),
    ];
    admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
  });
  afterAll(async () => {
    await admin.end();
    for (const server of servers) await server.stop();
    await database.remove();
  });

  /** Ends the backends that hold or use the lock of deliveries, as a failing network would. */
  const cutLocks = () =>
    admin.query(
      `select pg_terminate_backend(pid) from pg_locks join pg_stat_activity using (pid)
       where locktype = 'advisory' and granted and application_name = 'slipway' and datname = current_database()`,
    );

  test("rolls its work back: two tasks are never created in one debounce window", async () => {
    const [one, other] = servers;
    if (!one || !other) throw new Error("no servers");
    const { projectId, url: addressOf } = await makeHook(one, { debounceSeconds: 60 });
    const url = await addressOf();
    const elsewhere = url.replace(one.url, other.url);
    // Tasks can be read, but not inserted: the delivery stops between its decision and its write.
    await admin.query("begin");
    await admin.query("lock table tasks in share mode");
    const first = deliverTo(url, push);
    await eventually("the first delivery waits to write its task", async () => {
      const { rowCount } = await admin.query(
        "select 1 from pg_locks where relation = 'tasks'::regclass and not granted and database = (select oid from pg_database where datname = current_database())",
      );
      return (rowCount ?? 0) > 0;
    });
    await cutLocks();
    const second = deliverTo(elsewhere, push);
    // The second one comes while the first one waits for its lock.
    await Bun.sleep(500);
    await admin.query("commit");
    const codes = [(await first).body.code, (await second).body.code];
    expect(codes).toContain("accepted");
    expect(await tasksOf(one.admin, projectId)).toHaveLength(1);
  });
});

test.skipIf(!hasPostgres)("deliveries of many projects at once need no second connection each", async () => {
  const database = await makePostgres((await serviceUrl("postgres")) ?? "");
  const server = await startApiServer({ "database.url": database.url, "database.poolSize": 2 });
  const hooks = await Promise.all(Array.from({ length: 20 }, () => makeHook(server, {})));
  const urls = await Promise.all(hooks.map(({ url }) => url()));
  const answers = await Promise.all([...urls, ...urls].map((url) => deliverTo(url, push)));
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(20);
  expect(answers.filter(({ body }) => body.code === "debounced")).toHaveLength(20);
  await server.stop();
  await database.remove();
});

test.skipIf(!hasPostgres)(
  "a call waits longer for a free connection than for an unreachable server",
  async () => {
    const database = await makePostgres((await serviceUrl("postgres")) ?? "");
    const server = await startApiServer({ "database.url": database.url, "database.poolSize": 2 });
    const admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
    await admin.query("begin");
    await admin.query("lock table projects in access exclusive mode");
    const waiting = Array.from({ length: 6 }, () => server.admin.request("GET", "/api/projects"));
    // Longer than the three seconds after which an unreachable server is reported.
    await Bun.sleep(3_500);
    await admin.query("commit");
    const statuses = await Promise.all(waiting.map(async (answer) => (await answer).status));
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
    await admin.end();
    await server.stop();
    await database.remove();
  },
);
