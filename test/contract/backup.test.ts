import { describe, expect, test } from "bun:test";
import {
  appendFile,
  lstat,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { basename, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { sql } from "kysely";
import type { Store } from "../../src/model/store.ts";
import { backUp, restore } from "../../src/store/maintenance/backup.ts";
import { openBulkConnection } from "../../src/store/maintenance/bulk-connection.ts";
import { lastMigration, migrate } from "../../src/store/migrations/migrate.ts";
import type { Database, Dialect } from "../../src/store/query/dialect.ts";
import { databaseOver } from "../../src/store/query/kysely-dialect.ts";
import { availableDatabases, type TestDatabase } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { failureOf } from "../support/failure.ts";
import {
  sampleDelivery,
  sampleProject,
  sampleTask,
  sampleTime,
  sampleWebhookConfig,
} from "../support/samples.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { writeBurst } from "../support/write-burst.ts";

const databases = await availableDatabases();
const pairs = databases.flatMap((from) =>
  databases.map((to) => ({ from, to, title: `${from.name} to ${to.name}` })),
);

const folder = temporaryFolder("backup");

const fileIn = () => join(folder, `${crypto.randomUUID()}.backup`);
const backUpOf = async (database: TestDatabase, path = fileIn()) => {
  const { rows } = await backUp({ databaseUrl: database.url, path, key: "the key", now: sampleTime });
  return { path, rows };
};
const restoreInto = (database: TestDatabase, path: string) =>
  restore({ databaseUrl: database.url, path, onKey: async () => {}, endTask: null });
/** All rows of a backup by table, as text: what two backups are compared by. */
const contentOf = async (path: string) => {
  const lines = gunzipSync(await readFile(path))
    .toString()
    .trim()
    .split("\n");
  const batches = lines.map((line) => JSON.parse(line)).filter((line) => "table" in line);
  return Object.groupBy(
    batches.flatMap(({ table, rows }: { table: string; rows: object[] }) =>
      rows.map((row) => ({ table, row })),
    ),
    ({ table }) => table,
  );
};

/** Puts something into every table. */
async function fill(store: Store): Promise<void> {
  const user = await store.users.create({
    username: "ann",
    passwordHash: "h",
    role: "admin",
    createdAt: sampleTime,
  });
  const identity = await store.identities.create({
    userId: user.id,
    issuer: "https://git.example.com",
    subject: "7",
    provider: "git",
    host: "git.example.com",
    login: "ann",
    createdAt: sampleTime,
    lastUsedAt: sampleTime,
  });
  await store.sessions.create({
    userId: user.id,
    identityId: identity.id,
    tokenHash: "s",
    userAgent: "ü \u{1d11e}",
    remoteIp: "",
    createdAt: sampleTime,
    lastSeenAt: sampleTime,
    expiresAt: sampleTime,
  });
  await store.apiTokens.create({
    userId: user.id,
    name: "ci",
    tokenHash: "t",
    hint: "slp_",
    scopes: ["read"],
    createdAt: sampleTime,
    expiresAt: null,
  });
  const group = await store.groups.create({ name: "group", createdAt: sampleTime, env: { A: "b" } });
  await store.groups.setSecret(group.id, "SHARED", "v1.sealed");
  await store.permissions.setMember({ noun: "group", id: group.id }, user.id, "view");
  const { id: projectId } = await store.projects.create(sampleProject({ groupId: group.id }));
  await store.permissions.setMember({ noun: "project", id: projectId }, user.id, "manage");
  await store.projects.setSecret(projectId, "TOKEN", "v1.sealed");
  await store.webhookConfigs.save(sampleWebhookConfig({ projectId, key: "00".repeat(24) }));
  await store.webhookConfigs.save(sampleWebhookConfig({ projectId, key: "11".repeat(24) }));
  const deliveries = Array.from({ length: 1_100 }, (_, each) =>
    sampleDelivery({ project_id: projectId, host_delivery_id: `host ${each}` }),
  );
  await Promise.all(deliveries.map((delivery) => store.deliveries.create(delivery)));
  const task = await store.tasks.create(sampleTask({ projectId }));
  for (let index = 0; index < 3; index++)
    await store.tasks.appendLog(task.id, [
      { index, stage: "build", step: null, at: sampleTime, text: `line ${index}` },
    ]);
  await store.runners.create({
    name: "north",
    labels: ["linux"],
    tokenHash: "r",
    local: true,
    disabled: false,
    concurrency: 2,
    createdAt: sampleTime,
  });
  const hostToken = await store.hostTokens.save({
    ...{ userId: user.id, kind: "gitea", origin: "https://git.example.com", ciphertext: "x", hint: "x" },
    ...{ login: "ann", scopes: ["write:repository"], expiresAt: sampleTime, createdAt: sampleTime },
  });
  await store.hostHooks.save({
    ...{ projectId, tokenId: hostToken.id, kind: "gitea", origin: hostToken.origin },
    ...{ path: "ann/shop", hookId: "7", keyId: null, state: "ok", note: "" },
    ...{ checkedAt: sampleTime, nextCheckAt: sampleTime },
  });
  await store.audit.add({
    at: sampleTime,
    userId: user.id,
    username: "ann",
    action: "user.create",
    projectId: null,
    subject: "user ann",
    detail: { a: 1 },
    remoteIp: "",
  });
  await store.pushCodes.create({
    codeHash: "c",
    userId: "ann",
    console: true,
    channels: null,
    expiresAt: sampleTime,
    endsAt: sampleTime,
  });
  const figures = { at: sampleTime, gateway: "north", connections: 3, messages: 4, isCluster: false };
  await store.gatewayMinutes.record([figures], sampleTime);
  await store.meta.set("note", "kept");
}

describe.each(pairs)("a backup from $title", ({ from, to }) => {
  test("restores every row of every table, and ids continue after the greatest", async () => {
    const [source, target] = [await from.make(), await to.make()];
    await fill(await source.open());
    const { path, rows } = await backUpOf(source);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const store = await target.open();
    expect(await restoreInto(target, path)).toEqual({ rows, canceledTasks: 0 });
    const [before, after] = [await contentOf(path), await contentOf((await backUpOf(target)).path)];
    expect(Object.keys(before)).toHaveLength(22);
    expect(after).toEqual(before);
    const user = await store.users.create({
      username: "bob",
      passwordHash: "h",
      role: "user",
      createdAt: sampleTime,
    });
    expect(user.id).toBe(2);
    expect(await store.deliveries.create(sampleDelivery())).toBe(1_101);
    await source.remove();
    await target.remove();
  });
});

/** Works on a database as no store does, without bringing its schema up to date. */
async function withTables(
  { url }: TestDatabase,
  work: (db: Database, dialect: Dialect) => Promise<unknown>,
): Promise<void> {
  const file = url.match(/^sqlite:(.*)/)?.[1];
  if (file !== undefined) await appendFile(file, "");
  const connection = await openBulkConnection(url);
  try {
    await work(databaseOver(connection.dialect, connection.execute), connection.dialect);
  } finally {
    await connection.close();
  }
}

describe.each(databases)("a backup of $name", ({ make }) => {
  test("is refused if the database is empty, or was upgraded by a later version", async () => {
    const database = await make();
    await withTables(database, async () => {});
    expect(await failureOf(backUpOf(database))).toMatchObject({
      code: "not_found",
      message: expect.stringContaining("has no data of Slipway"),
    });
    await database.open();
    await withTables(database, (db) =>
      sql`insert into kysely_migration (name, timestamp) values ('0999-later', '')`.execute(db),
    );
    expect(String(await failureOf(backUpOf(database)))).toContain("it has the schema 0999-later");
    await database.remove();
  });

  test("made before the upgrade by the new version has the schema of the data, and is restored through the upgrade", async () => {
    const [source, target] = [await make(), await make()];
    await withTables(source, async (db, dialect) => {
      await migrate(db, dialect, "0005-default-notify");
      await sql`insert into meta (name, value) values ('note', 'kept')`.execute(db);
    });
    const { path } = await backUpOf(source);
    expect(gunzipSync(await readFile(path)).toString()).toContain('"schema":"0005-default-notify"');
    const store = await target.open();
    await restoreInto(target, path);
    expect(await store.meta.get("note")).toBe("kept");
    const { id: projectId } = await store.projects.create(sampleProject());
    await store.tasks.create(sampleTask({ projectId }));
    await source.remove();
    await target.remove();
  });

  test("is one moment of a database that is being written to", async () => {
    const [source, target] = [await make(), await make()];
    const store = await source.open();
    const { id } = await store.projects.create(sampleProject());
    let written = 0;
    let isOver = false;
    const writing = writeBurst(
      store,
      id,
      () => isOver,
      () => void written++,
      (error) => {
        throw error;
      },
    );
    await eventually("some are written", () => written >= 200);
    const { path } = await backUpOf(source);
    isOver = true;
    await writing;
    await target.open();
    await restoreInto(target, path);
    const content = await contentOf(path);
    const tasks = content.tasks?.length ?? 0;
    expect(tasks).toBeGreaterThanOrEqual(200);
    expect(content.deliveries).toHaveLength(tasks);
    await source.remove();
    await target.remove();
  });

  test("never writes to a file or through a link that is already there", async () => {
    const source = await make();
    await fill(await source.open());
    const path = fileIn();
    const victim = join(folder, `victim ${crypto.randomUUID()}`);
    await writeFile(victim, "untouched");
    await symlink(victim, path);
    await symlink(victim, `${path}.partial`);
    await backUpOf(source, path);
    expect(await readFile(victim, "utf8")).toBe("untouched");
    expect((await lstat(path)).isFile()).toBe(true);
    expect((await lstat(path)).mode & 0o777).toBe(0o600);
    expect((await readdir(folder)).filter((name) => name.endsWith(".partial"))).toEqual([
      basename(`${path}.partial`),
    ]);
    await rm(`${path}.partial`);
    const nowhere = join(folder, "nowhere", "a.backup");
    expect(String(await failureOf(backUpOf(source, nowhere)))).toContain("cannot be written");
    await source.remove();
  });

  test("is not restored into a database that holds something, nor when it is cut or of another schema", async () => {
    const [source, target] = [await make(), await make()];
    await fill(await source.open());
    const store = await target.open();
    const { path } = await backUpOf(source);
    expect(await failureOf(restoreInto(source, path))).toMatchObject({ code: "conflict" });

    const lines = gunzipSync(await readFile(path))
      .toString()
      .trim()
      .split("\n");
    await writeFile(path, gzipSync(lines.slice(0, -1).join("\n")));
    expect(String(await failureOf(restoreInto(target, path)))).toContain("is cut off");
    await truncate(path, 100);
    expect(await failureOf(restoreInto(target, path))).toMatchObject({ code: "invalid" });
    for (const schema of ["0022-short-authors", "0999-later"]) {
      await writeFile(path, gzipSync(`${lines[0]?.replace(lastMigration, schema)}\n`));
      expect(String(await failureOf(restoreInto(target, path)))).toContain(
        `The backup has the schema ${schema}, which this version cannot use`,
      );
    }
    expect(await failureOf(restoreInto(target, join(folder, "nowhere")))).toMatchObject({ code: "invalid" });

    expect(await store.users.count()).toBe(0);
    expect(await store.meta.get("note")).toBeNull();
    await source.remove();
    await target.remove();
  });
});
