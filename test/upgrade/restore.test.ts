import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildCli } from "../support/cli.ts";
import type { DatabaseName } from "../support/databases.ts";
import { makePostgres } from "../support/databases.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { backupOf, callerWith, factsOf, recordedDatabases, startOn } from "./recording.ts";

let folder: string;
beforeAll(() => {
  folder = temporaryFolder("restore");
});

const databases = await recordedDatabases();
const pairs = databases.flatMap((from) => databases.map((to) => [from, to] as [DatabaseName, DatabaseName]));

describe.each(pairs)("a recorded backup of %s", (from, to) => {
  test(`is restored into ${to}`, async () => {
    const facts = factsOf(from);
    const database = to === "SQLite" ? null : await makePostgres((await serviceUrl("postgres")) ?? "");
    const env: Record<string, string> = database === null ? {} : { SLIPWAY_DATABASE_URL: database.url };
    const dataDir = join(folder, `${from} to ${to}`, "data");
    mkdirSync(dataDir, { recursive: true });
    const restored = await buildCli(env)(["restore", backupOf(from), "--data-dir", dataDir]);
    expect(restored).toMatchObject({ exitCode: 0, stderr: "" });
    expect(restored.stdout).toContain("13 tasks that were queued or running are canceled");
    const server = await startOn({ dataDir, env });
    try {
      const api = callerWith(server.url, facts.apiTokens.admin);
      expect(await api("GET", `/api/projects/${facts.ids.project}`)).toMatchObject({
        name: "shop",
        secretNames: ["DEPLOY_KEY", "OTHER"],
        git: { credentialSet: true },
      });
      const group = { env: {}, secrets: [] };
      expect(await api("GET", `/api/groups/${facts.ids.group}`)).toMatchObject(group);
      const { tasks } = facts;
      for (const task of [
        "queued",
        "queuedLabelled",
        "windowed",
        "dispatched",
        "running",
        "canceling",
        "waiting",
      ])
        expect(await api("GET", `/api/tasks/${tasks[task]}`)).toMatchObject({
          state: "canceled",
          reason: "restored from backup",
        });
      expect(await api("GET", `/api/tasks/${tasks.success}`)).toMatchObject({ state: "success", reason: "" });
      // The window has ended with its task: the next push makes a task of its own.
      const { url } = await api<{ url: string }>("GET", `/api/projects/${facts.ids.windowed}/webhook`);
      const pushed = await fetch(server.url + new URL(url).pathname, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ event: "push", ref: "refs/heads/main", commit: "1".repeat(40) }),
      });
      expect(await pushed.json()).toMatchObject({ status: "accepted" });
      const { username, password } = { username: "ann", password: facts.passwords.ann };
      await callerWith(server.url, "")("POST", "/api/auth/login", { username, password });
    } finally {
      await server.stop();
      await database?.remove();
    }
  });
});

test("a restore with --keep-queue runs what was queued in the original", async () => {
  const facts = factsOf("SQLite");
  const dataDir = join(folder, "kept", "data");
  mkdirSync(dataDir, { recursive: true });
  const slipway = buildCli({});
  const restored = await slipway([
    "restore",
    backupOf("SQLite"),
    "--keep-queue",
    "--json",
    "--data-dir",
    dataDir,
  ]);
  expect(restored.json()).toMatchObject({ canceledTasks: 0 });
  const server = await startOn({ dataDir, env: {} });
  try {
    const api = callerWith(server.url, facts.apiTokens.admin);
    for (const task of ["queued", "queuedLabelled"])
      expect(await api("GET", `/api/tasks/${facts.tasks[task]}`)).toMatchObject({ state: "queued" });
  } finally {
    await server.stop();
  }
});
