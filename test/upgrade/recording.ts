import { Database } from "bun:sqlite";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { Client } from "pg";
import { type DatabaseName, makePostgres } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { main } from "../support/program.ts";
import { serviceUrl } from "../support/services.ts";
import type { Facts } from "./recorded-scene.ts";

const recorded = join(import.meta.dir, "recorded");
export const settingsFile = join(recorded, "slipway.yaml");
export const recordedRunner = join(recorded, "runner.js");

const files = { SQLite: "sqlite", PostgreSQL: "postgres" } as const satisfies Record<DatabaseName, string>;

export function readRecorded<T>(file: string): T {
  return JSON.parse(readFileSync(join(recorded, file), "utf8")) as T;
}

export function factsOf(name: DatabaseName): Facts {
  return readRecorded<Record<string, Facts>>("facts.json")[files[name]] as Facts;
}

export function backupOf(name: DatabaseName): string {
  return join(recorded, `${files[name]}.backup`);
}

/** The recorded settings without those that were removed since, as docs/upgrading.md says. Returns the file. */
export function upgradedSettings(folder: string): string {
  const file = join(folder, "upgraded.yaml");
  writeFileSync(file, readFileSync(settingsFile, "utf8").replace("messages: 1000, ", ""));
  return file;
}

/** A copy of the recorded installation, as if its program had just been stopped. */
export interface Installation {
  name: DatabaseName;
  facts: Facts;
  dataDir: string;
  /** What the program needs in addition to the settings file. */
  env: Record<string, string>;
  query(statement: string): Promise<Record<string, unknown>[]>;
  remove(): Promise<void>;
}

export async function recordedDatabases(): Promise<DatabaseName[]> {
  return (await serviceUrl("postgres")) === undefined ? ["SQLite"] : ["SQLite", "PostgreSQL"];
}

export async function copyInstallation(name: DatabaseName): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), "slipway-upgrade-"));
  const archive = join(recorded, `${files[name]}.tar.gz`);
  const unpacked = Bun.spawnSync(["tar", "-C", folder, "--no-same-owner", "-xzf", archive]);
  if (!unpacked.success) throw new Error(unpacked.stderr.toString());
  const dataDir = join(folder, "data");
  const facts = factsOf(name);
  const { query, env, remove } =
    name === "SQLite" ? sqliteCopy(dataDir) : await postgresCopy((await serviceUrl("postgres")) ?? "");
  await moveTimes(query, name, Date.now() - facts.recordedAt);
  for (const column of ["git", "env"])
    await query(`update projects set ${column} = replace(${column}, '${facts.dataDir}', '${dataDir}')`);
  return {
    name,
    facts,
    dataDir,
    env,
    query,
    async remove() {
      await remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Access = Pick<Installation, "env" | "query" | "remove">;

function sqliteCopy(dataDir: string): Access {
  return {
    env: {},
    async query(statement) {
      const database = new Database(join(dataDir, "slipway.db"));
      try {
        database.run("pragma busy_timeout = 10000");
        return database.query(statement).all() as Record<string, unknown>[];
      } finally {
        database.close();
      }
    },
    remove: async () => {},
  };
}

async function postgresCopy(server: string): Promise<Access> {
  const { url, remove } = await makePostgres(server);
  const query = async (statement: string) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query(statement)).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  };
  await query(gunzipSync(readFileSync(join(recorded, "postgres.sql.gz"))).toString());
  return { env: { SLIPWAY_DATABASE_URL: url }, query, remove };
}

const columnsOf: Record<DatabaseName, string> = {
  SQLite: `select m.name as "table", c.name as "column" from sqlite_master m, pragma_table_info(m.name) c
    where m.type = 'table'`,
  PostgreSQL: `select table_name as "table", column_name as "column" from information_schema.columns
    where table_schema = 'public'`,
};

/** Shifts stored times, so that sessions, leases, windows and retention are as at the recording. */
async function moveTimes(query: Installation["query"], name: DatabaseName, byMs: number): Promise<void> {
  const columns = (await query(columnsOf[name])) as { table: string; column: string }[];
  for (const { table, column } of columns)
    if (/(_at|_until|^at|^not_before)$/.test(column))
      await query(`update ${table} set "${column}" = "${column}" + ${byMs} where "${column}" is not null`);
}

export interface RunningServer {
  url: string;
  output(): Promise<string>;
  stop(): Promise<void>;
}

const readyDeadlineMs = 60_000;

/** Today's program on that installation, with the recorded settings file. */
export async function startOn(
  { dataDir, env }: Pick<Installation, "dataDir" | "env">,
  settings: Record<string, string> = {},
): Promise<RunningServer> {
  const file = join(dataDir, `../${crypto.randomUUID()}.log`);
  // One file handle for both streams: with two, they would overwrite each other.
  const log = openSync(file, "a");
  const child = Bun.spawn(
    [process.execPath, main, "start", "--config", upgradedSettings(dataDir), "--data-dir", dataDir],
    {
      // Never this repository: a program that deletes its working folder must not delete it.
      cwd: dataDir,
      env: { PATH: process.env.PATH ?? "", HOME: dataDir, ...env, ...settings },
      stdin: "ignore",
      stdout: log,
      stderr: log,
    },
  );
  closeSync(log);
  let url = "";
  await eventually(
    "the program listens and is ready",
    async () => {
      const output = await Bun.file(file).text();
      if (child.exitCode !== null) throw new Error(`the program ended: ${output}`);
      url = /"url":"([^"]+)"[^\n]*"msg":"listening"/.exec(output)?.[1] ?? "";
      return url !== "" && (await fetch(`${url}/readyz`)).status === 200;
    },
    readyDeadlineMs,
  );
  return {
    url,
    output: () => Bun.file(file).text(),
    async stop() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

export type Caller = <T = Record<string, unknown>>(
  method: string,
  path: string,
  body?: unknown,
) => Promise<T>;

/** Calls the API with a recorded credential; an answer that is no success is an error. */
export function callerWith(url: string, token: string): Caller {
  return async <T>(method: string, path: string, body?: unknown) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return (text === "" ? null : JSON.parse(text)) as T;
  };
}
