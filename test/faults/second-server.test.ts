import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import pg from "pg";
import { buildCli } from "../support/cli.ts";
import { availableDatabases, type TestDatabase } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describe("while a server runs on an SQLite database", () => {
  const dataDir = temporaryFolder("second");
  const slipway = buildCli({});
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServerProcess(dataDir, { "runner-enabled": "false" });
  });
  afterAll(() => server.end("SIGTERM"));

  test("a second one is refused: it would not see changes of the first, such as a reset key", async () => {
    const second = await slipway(["deploy", "--server-listen", "127.0.0.1:0", "--data-dir", dataDir]);
    expect(second.exitCode).toBe(1);
    expect(second.stderr).toContain("Another Slipway server is running on the database");
  });

  test("its key cannot be rotated: secrets that it encrypts next would be lost", async () => {
    const rotation = await slipway(["key", "rotate", "--data-dir", dataDir]);
    expect([rotation.exitCode, rotation.stdout]).toEqual([1, ""]);
    expect(rotation.stderr).toContain("Stop it first");
  });

  test("a backup can be taken", async () => {
    const backup = await slipway(["backup", join(dataDir, "now.bak"), "--data-dir", dataDir]);
    expect(backup.exitCode).toBe(0);
  });

  test("a killed server leaves no lock behind", async () => {
    await server.end("SIGKILL");
    const rotation = await slipway(["key", "rotate", "--data-dir", dataDir]);
    expect([rotation.exitCode, rotation.stderr]).toEqual([0, ""]);
    server = await startServerProcess(dataDir, { "runner-enabled": "false" });
  });
});

const postgres = (await availableDatabases()).filter(({ name }) => name === "PostgreSQL");

describe.each(postgres)("while two servers run on $name", ({ make }) => {
  const dataDir = temporaryFolder("second");
  const slipway = buildCli({});
  let database: TestDatabase;
  let servers: ServerProcess[];

  const start = () =>
    startServerProcess(dataDir, { "runner-enabled": "false", "database-url": database.url });
  const rotate = () => slipway(["key", "rotate", "--data-dir", dataDir, "--database-url", database.url]);
  const query = async (text: string) => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rowCount } = await client.query(text).finally(() => client.end());
    return rowCount;
  };

  beforeAll(async () => {
    database = await make();
    servers = [await start(), await start()];
  });
  afterAll(async () => {
    for (const server of servers) await server.end("SIGTERM");
    await database.remove();
  });

  test("the key cannot be rotated, and the refusal names the servers to stop", async () => {
    const rotation = await rotate();
    expect([rotation.exitCode, rotation.stdout]).toEqual([1, ""]);
    expect(rotation.stderr).toContain("2 Slipway servers are running on this database");
    for (const { pid } of servers) expect(rotation.stderr).toContain(`pid ${pid}`);
    expect(rotation.stderr).toContain("stop them all first");
  });

  test("a server whose connection broke is counted again after it reconnected", async () => {
    // The view lists the locks of all databases of the PostgreSQL server.
    const presence = `from pg_locks join pg_database on pg_database.oid = pg_locks.database
      where locktype = 'advisory' and mode = 'ShareLock' and datname = current_database()`;
    expect(await query(`select pg_terminate_backend(pid) ${presence}`)).toBe(2);
    await eventually("both are back", async () => (await query(`select 1 ${presence}`)) === 2);
    expect((await rotate()).stderr).toContain("2 Slipway servers");
  });

  test("the key is rotated after they were stopped or killed, and the next server starts with the new key", async () => {
    const id = await servers[0]?.project("https://git.example.com/shop.git", { build: "true" });
    await servers[0]?.admin.expect(204, "PUT", `/api/projects/${id}/secrets/TOKEN`, { value: "a secret" });
    expect(await servers[0]?.end("SIGTERM")).toBe(0);
    expect((await rotate()).stderr).toContain("A Slipway server is running");
    await servers[1]?.end("SIGKILL");
    expect(await rotate()).toMatchObject({
      exitCode: 0,
      stderr: "",
      stdout: "Sealed 1 secrets with the new key.\n",
    });
    servers = [await start()];
    const project = await servers[0]?.admin.expect(200, "GET", `/api/projects/${id}`);
    expect(project).toMatchObject({ secretNames: ["TOKEN"] });
  });
});
