import { expect, test } from "bun:test";
import { chmodSync, existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Store } from "../../src/model/store.ts";
import { loadDataKey } from "../../src/store/maintenance/data-key.ts";
import { buildCli } from "../support/cli.ts";
import { openTestStore } from "../support/databases.ts";
import { ordinary } from "../support/ordinary-user.ts";
import { main } from "../support/program.ts";
import { sampleProject } from "../support/samples.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const slipway = buildCli({});
const folder = temporaryFolder("data");

/** Data of a server: a database with a project and its secret, and the key file. */
async function withStore<T>(dataDir: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openTestStore(`sqlite:${join(dataDir, "slipway.db")}`);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

test("backup, restore and key rotate work directly on the database, and a second restore is refused", async () => {
  const [first, second] = [join(folder, "first"), join(folder, "second")];
  const file = join(folder, "slipway.backup");
  const sealed = await withStore(first, async (store) => {
    const { secrets } = await loadDataKey({ dataDir: first, encryptionKey: undefined }, store);
    const { id } = await store.projects.create(sampleProject({ name: "shop" }));
    await store.projects.setSecret(id, "TOKEN", secrets.seal(`project ${id} secret TOKEN`, "value"));
    return id;
  });

  const backup = await slipway(["backup", file, "--data-dir", first, "--json"]);
  expect(backup).toMatchObject({ exitCode: 0, stderr: "" });
  expect(JSON.parse(backup.stdout)).toMatchObject({ file });
  const restored = await slipway(["restore", file, "--data-dir", second]);
  expect(restored).toMatchObject({ exitCode: 0, stderr: "" });
  expect(restored.stdout).toContain("Restored");
  const again = await slipway(["restore", file, "--data-dir", second]);
  expect(again.exitCode).toBe(1);
  expect(again.stderr).toContain("not empty");

  const keyBefore = await readFile(join(second, "slipway.key"), "utf8");
  expect(keyBefore).toBe(await readFile(join(first, "slipway.key"), "utf8"));
  const rotated = await slipway(["key", "rotate", "--data-dir", second]);
  expect(rotated).toMatchObject({ exitCode: 0, stderr: "" });
  expect(rotated.stdout).toContain("Sealed 1 secrets");
  expect(await readFile(join(second, "slipway.key"), "utf8")).not.toBe(keyBefore);
  await withStore(second, async (store) => {
    const { secrets } = await loadDataKey({ dataDir: second, encryptionKey: undefined }, store);
    const [secret] = await store.projects.secrets(sealed);
    expect(secrets.open(`project ${sealed} secret TOKEN`, secret?.ciphertext ?? "")).toBe("value");
  });
});

test("a backup of a missing database is an error and creates no database", async () => {
  const run = await slipway(["backup", join(folder, "none"), "--data-dir", join(folder, "empty")]);
  expect(run.exitCode).toBe(5);
  expect(run.stderr).toContain("There is no database");
});

test("key rotate and user reset-password of a missing database are errors and create no database", async () => {
  const dataDir = join(folder, "misspelt");
  for (const command of [
    ["key", "rotate"],
    ["user", "reset-password", "admin"],
  ]) {
    const run = await slipway([...command, "--data-dir", dataDir], "a new password\n");
    expect([run.exitCode, run.stderr]).toEqual([5, expect.stringContaining("There is no database")]);
  }
  expect(existsSync(dataDir)).toBe(false);
});

test("key rotate refuses --next-key if the key is a file, and keeps the key", async () => {
  const dataDir = join(folder, "key-file");
  await withStore(dataDir, (store) => loadDataKey({ dataDir, encryptionKey: undefined }, store));
  const key = await readFile(join(dataDir, "slipway.key"), "utf8");
  const run = await slipway(["key", "rotate", "--data-dir", dataDir, "--next-key", "ab".repeat(32)]);
  expect([run.exitCode, run.stderr]).toEqual([2, expect.stringContaining("leave --next-key out")]);
  expect(await readFile(join(dataDir, "slipway.key"), "utf8")).toBe(key);
});

test("key rotate with a setting refuses a key that is not the database's, and keeps the database's", async () => {
  const dataDir = join(folder, "other-key");
  await withStore(dataDir, (store) => loadDataKey({ dataDir, encryptionKey: undefined }, store));
  const keys = ["--data-encryption-key", "ab".repeat(32), "--next-key", "cd".repeat(32)];
  const run = await slipway(["key", "rotate", "--data-dir", dataDir, ...keys]);
  expect([run.exitCode, run.stderr]).toEqual([2, expect.stringContaining("did not encrypt the secrets")]);
  await withStore(dataDir, (store) => loadDataKey({ dataDir, encryptionKey: undefined }, store));
});

test("a backup by a user who may not open the database says so, and names the way out", async () => {
  const dataDir = join(folder, "closed");
  await withStore(dataDir, (store) => loadDataKey({ dataDir, encryptionKey: undefined }, store));
  chmodSync(dataDir, 0o000);
  const child = Bun.spawn(
    [...ordinary, process.execPath, main, "backup", join(folder, "closed.backup"), "--data-dir", dataDir],
    { stdout: "ignore", stderr: "pipe" },
  );
  const [stderr, exitCode] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  chmodSync(dataDir, 0o700);
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^The database \S+ cannot be opened: EACCES.*\. Run this command as the user of the server\./,
    ),
  ]);
});

test("a backup without the key file of its secrets is refused, because it could not be used", async () => {
  const dataDir = join(folder, "sealed");
  await withStore(dataDir, (store) => loadDataKey({ dataDir, encryptionKey: undefined }, store));
  const file = join(folder, "without-key.backup");
  const backup = (...more: string[]) =>
    slipway(["backup", file, "--database-url", `sqlite:${join(dataDir, "slipway.db")}`, ...more]);
  const elsewhere = await backup("--data-dir", join(folder, "elsewhere"));
  expect([elsewhere.exitCode, elsewhere.stderr]).toEqual([2, expect.stringContaining("data.dir")]);
  expect(existsSync(file)).toBe(false);
  // A key that is a setting is not part of a backup.
  expect(await backup("--data-encryption-key", "ab".repeat(32))).toMatchObject({ exitCode: 0, stderr: "" });
});
