import { expect, test } from "bun:test";
import pg from "pg";
import { startApiServer } from "../support/api-server.ts";
import { availableDatabases } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { makeHook } from "../support/hook.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const databases = await availableDatabases();
const postgres = databases.filter(({ name }) => name === "PostgreSQL");

test.each(postgres)(
  "while $name is away the API answers 503 with the reason and without the host name, and recovers without help",
  async ({ make }) => {
    const database = await make();
    const address = new URL(database.url);
    const proxy = startTcpProxy({ hostname: address.hostname, port: Number(address.port) });
    address.hostname = "127.0.0.1";
    address.port = String(proxy.port);
    const server = await startApiServer({ "database.url": address.href });
    expect((await server.anonymous.request("GET", "/readyz")).status).toBe(200);

    proxy.cut();
    const away = await server.anonymous.request("GET", "/readyz");
    expect([away.status, away.text]).toEqual([503, "the database does not answer\n"]);
    expect((await server.anonymous.request("GET", "/livez")).status).toBe(200);
    for (const [method, path, body] of [
      ["GET", "/api/projects"],
      ["POST", "/api/auth/login", { username: "admin", password: "x" }],
    ] as const) {
      const answer = await server.admin.request(method, path, body);
      expect([answer.status, (answer.body as { error: { code: string } }).error.code]).toEqual([
        503,
        "unavailable",
      ]);
      expect(answer.headers.get("retry-after")).toBe("1");
      expect(answer.text).not.toContain(String(proxy.port));
    }

    proxy.restore();
    await eventually(
      "ready again",
      async () => (await server.anonymous.request("GET", "/readyz")).status === 200,
    );
    expect((await server.admin.request("GET", "/api/projects")).status).toBe(200);
    await server.stop();
    proxy.stop();
    await database.remove();
  },
);

test.each(postgres)(
  "a read-only $name is not ready, and is ready again when it accepts writes",
  async ({ make }) => {
    const database = await make();
    const server = await startApiServer({ "database.url": database.url });
    const { deliver } = await makeHook(server, { debounceSeconds: 0 });
    const admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
    const setReadOnly = async (value: "on" | "off") => {
      const name = new URL(database.url).pathname.slice(1);
      await admin.query("set default_transaction_read_only = off");
      await admin.query(`alter database ${name} set default_transaction_read_only = ${value}`);
      await admin.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'slipway' and datname = current_database()",
      );
    };
    const push = { payload: { event: "push", ref: "refs/heads/main" } };
    const ready = () => server.anonymous.request("GET", "/readyz");
    expect((await deliver(push)).status).toBe(202);

    await setReadOnly("on");
    await eventually("deliveries fail", async () => (await deliver(push)).status === 500);
    const refused = await ready();
    expect([refused.status, refused.text]).toEqual([
      503,
      "the database cannot be written: its disk may be full, or it only reads\n",
    ]);

    await setReadOnly("off");
    await eventually("ready again", async () => (await ready()).status === 200);
    expect((await deliver(push)).status).toBe(202);
    await admin.end();
    await server.stop();
    await database.remove();
  },
);
