import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { buildApp } from "../../src/app.ts";
import { configOf } from "../../src/config/config-load.ts";
import { availableDatabases } from "../support/databases.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const log = pino({ level: "silent" });
const chosen = process.env.SLIPWAY_ADMIN_PASSWORD;
afterAll(() => {
  if (chosen !== undefined) process.env.SLIPWAY_ADMIN_PASSWORD = chosen;
});

async function signIn(url: string, password: string): Promise<number> {
  const body = JSON.stringify({ username: "admin", password });
  const headers = { "content-type": "application/json" };
  return (await fetch(`${url}/api/auth/login`, { method: "POST", headers, body })).status;
}

const passwordIn = (facts: string[]) =>
  facts.map((fact) => /the password (\S+)/.exec(fact)?.[1]).find(Boolean);

describe.each(await availableDatabases())("the first start on $name", ({ name, make }) => {
  test("creates one admin, also if instances start together; its password is shown once and works", async () => {
    delete process.env.SLIPWAY_ADMIN_PASSWORD;
    const database = await make();
    const dataDir = temporaryFolder("first");
    const config = configOf({
      "server.listen": { host: "127.0.0.1", port: 0 },
      "data.dir": dataDir,
      "database.url": database.url,
    });
    // Only one server at a time can use an SQLite file.
    const instances = name === "SQLite" ? [1] : [1, 2, 3];
    const apps = await Promise.all(instances.map(() => buildApp(config, "deploy", log)));
    const passwords = apps.map((app) => passwordIn(app.facts)).filter((password) => password !== undefined);
    expect(passwords).toHaveLength(1);
    for (const app of apps) expect(await signIn(app.url, passwords[0] ?? "")).toBe(200);
    for (const app of apps) await app.stop();
    const later = await buildApp(config, "deploy", log);
    expect(passwordIn(later.facts)).toBeUndefined();
    await later.stop();
    await database.remove();
  });

  test("accepts SLIPWAY_ADMIN_PASSWORD and prints no password", async () => {
    process.env.SLIPWAY_ADMIN_PASSWORD = "chosen by the operator";
    const database = await make();
    const dataDir = temporaryFolder("first");
    const listen = { host: "127.0.0.1", port: 0 };
    const config = configOf({ "server.listen": listen, "data.dir": dataDir, "database.url": database.url });
    const app = await buildApp(config, "deploy", log);
    expect(app.facts.join()).not.toContain("chosen by the operator");
    expect(await signIn(app.url, "chosen by the operator")).toBe(200);
    await app.stop();
    await database.remove();
  });
});

test("database and key file can be read by their owner alone", async () => {
  const dataDir = join(temporaryFolder("first"), "data");
  const listen = { host: "127.0.0.1", port: 0 };
  const app = await buildApp(configOf({ "server.listen": listen, "data.dir": dataDir }), "deploy", log);
  for (const name of readdirSync(dataDir))
    expect([name, statSync(join(dataDir, name)).mode & 0o077]).toEqual([name, 0]);
  expect(statSync(dataDir).mode & 0o077).toBe(0);
  await app.stop();
  rmSync(join(dataDir, ".."), { recursive: true, force: true });
});
