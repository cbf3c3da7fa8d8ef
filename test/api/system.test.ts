import { afterAll, expect, test } from "bun:test";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { buildBackupNow } from "../../src/app/system/backup-now.ts";
import { buildApp } from "../../src/app.ts";
import { systemClock } from "../../src/clock.ts";
import { configOf, loadConfig } from "../../src/config/config-load.ts";
import { readBackupFile } from "../../src/store/maintenance/backup-file.ts";
import { adminPassword, signInAt, startApiServer } from "../support/api-server.ts";
import { startDeployServer } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const server = await startDeployServer({ "metrics.token": "a token that is never shown" });
afterAll(async () => {
  await server.stop();
  server.remove();
});

test("the system names version, database, disk and settings, without secrets", async () => {
  const system = await server.admin.expect<{ settings: { key: string; value: string }[] }>(
    200,
    "GET",
    "/api/system",
  );
  expect(system).toMatchObject({
    version: expect.any(String),
    queue: { queued: 0, running: 0, waiting: 0 },
    broker: null,
  });
  expect(system.settings.find(({ key }) => key === "metrics.token")?.value).toBe('"********"');
  expect(JSON.stringify(system)).not.toContain("a token that is never shown");
});

test("a backup is a complete file beside the data that only its owner may read, and is in the audit log", async () => {
  const backUp = () =>
    server.admin.expect<{ file: string; bytes: number; rows: number; seconds: number }>(
      200,
      "POST",
      "/api/system/backup",
    );
  const [written, shared] = await Promise.all([backUp(), backUp()]);
  expect(shared).toEqual(written);
  expect(written.file).toStartWith(join(server.dataDir, "backups", "slipway-"));
  const { size, mode } = statSync(written.file);
  expect({ size, mode: mode & 0o777 }).toEqual({ size: written.bytes, mode: 0o600 });
  let rows = 0;
  for await (const line of readBackupFile(written.file)) if ("rows" in line) rows += line.rows.length;
  expect(rows).toBe(written.rows);
  const { items } = await server.admin.expect<{ items: { subject: string; detail: object }[] }>(
    200,
    "GET",
    "/api/audit?action=system.backup",
  );
  expect(items[0]).toMatchObject({ subject: "system", detail: { file: written.file, bytes: written.bytes } });
});

test("a backup that cannot be written says why", async () => {
  writeFileSync(join(server.dataDir, "no-folder"), "");
  const backUp = buildBackupNow(configOf({ "data.dir": join(server.dataDir, "no-folder") }), systemClock);
  await expect(backUp()).rejects.toThrow(/The backup could not be written: .*no-folder/);
});

test("the packages inside have a version and a licence, and tools of the tests are not among them", async () => {
  const { packages } = await server.admin.expect<{
    packages: { name: string; version: string; licence: string }[];
  }>(200, "GET", "/api/system/licences");
  const names = packages.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["hono", "react", "@mantine/core", "pg-protocol", "bun"]));
  expect(names).not.toContain("typescript");
  for (const { version, licence } of packages)
    expect([version, licence]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
});

test("a broker that does not answer is named with the reason", async () => {
  const unreachable = await startDeployServer({
    "push.queue.url": "amqp://guest:a-password-nobody-sees@127.0.0.1:1",
    "push.queue-client-messages": true,
  });
  try {
    await eventually("the broker is named with the reason", async () => {
      const { broker } = await unreachable.admin.expect<{
        broker: { name: string; ready: boolean; detail: string };
      }>(200, "GET", "/api/system");
      expect(broker).toMatchObject({ name: "RabbitMQ", ready: false });
      expect(broker.detail).not.toContain("a-password-nobody-sees");
      return /refused/i.test(broker.detail);
    });
  } finally {
    await unreachable.stop();
    unreachable.remove();
  }
});

test("a limit that the system lowers is shown as it is used", async () => {
  const configured = 100_000_000;
  const lowered = await startApiServer({ "push.max-connections": configured }, undefined, "start");
  try {
    const { settings, warnings, warningParts } = await lowered.admin.expect<{
      settings: { key: string; value: string; used: string | null }[];
      warnings: string[];
      warningParts: object[];
    }>(200, "GET", "/api/system");
    const changed = settings.filter(({ used }) => used !== null);
    expect(changed).toMatchObject([{ key: "push.max-connections", value: String(configured) }]);
    expect(warnings.join()).toContain(`push.max-connections is lowered to ${changed[0]?.used}`);
    expect(warningParts).toContainEqual([
      { code: "system_connections", values: { limit: changed[0]?.used } },
    ]);
  } finally {
    await lowered.stop();
  }
});

test("the sources of settings and the warnings of the start are named, secrets are not", async () => {
  const folder = temporaryFolder("sources");
  const path = join(folder, "slipway.yaml");
  writeFileSync(path, "server:\n  listen: 127.0.0.1:0\n  baseUrl: https://deploy.example.com\n");
  const config = await loadConfig({
    file: { path, required: true },
    env: {
      SLIPWAY_DATA_DIR: join(folder, "data"),
      SLIPWAY_METRICS_TOKEN: "kept-token",
      SLIPWAY_PUSH_QUEUE_URL: "amqp://guest:kept-password@127.0.0.1:1",
    },
    flags: { "tasks.concurrency": "3" },
  });
  const app = await buildApp(config, "deploy", pino({ level: "silent" }));
  try {
    const admin = await signInAt(app.url, "admin", adminPassword);
    const system = await admin.expect<{
      settings: { key: string; value: string; source: string }[];
      warnings: string[];
    }>(200, "GET", "/api/system");
    const sourceOf = (key: string) => system.settings.find((setting) => setting.key === key)?.source;
    expect({
      file: sourceOf("server.baseUrl"),
      variable: sourceOf("data.dir"),
      secret: sourceOf("metrics.token"),
      flag: sourceOf("tasks.concurrency"),
      default: sourceOf("auth.sessionHours"),
    }).toEqual({
      file: path,
      variable: "SLIPWAY_DATA_DIR",
      secret: "SLIPWAY_METRICS_TOKEN",
      flag: "--tasks-concurrency",
      default: "default",
    });
    expect(JSON.stringify(system)).not.toMatch(/kept-(token|password)/);
    expect(system.warnings).toEqual([expect.stringContaining("server.trustedProxies is empty")]);
    expect(app.warnings).toEqual(expect.arrayContaining(system.warnings));
  } finally {
    await app.stop();
  }
});
