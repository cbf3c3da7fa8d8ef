import { join } from "node:path";
import { Client } from "pg";
import pino from "pino";
import { type Clock, systemClock } from "../../src/clock.ts";
import type { Store } from "../../src/model/store.ts";
import { openStore } from "../../src/store/database.ts";
import { serviceUrl } from "./services.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** An empty database of one test file, and all stores that were opened on it. */
export interface TestDatabase {
  url: string;
  /** Opens one more store on it, as another instance would. */
  open(): Promise<Store>;
  /** Closes the stores and removes the database. */
  remove(): Promise<void>;
}

export type DatabaseName = "SQLite" | "PostgreSQL";

/** The databases for contract tests; PostgreSQL is missing only if it is not available. */
export async function availableDatabases(): Promise<
  { name: DatabaseName; make: () => Promise<TestDatabase> }[]
> {
  const server = await serviceUrl("postgres");
  return [
    { name: "SQLite", make: makeSqlite },
    ...(server === undefined ? [] : [{ name: "PostgreSQL" as const, make: () => makePostgres(server) }]),
  ];
}

export async function makeSqlite(): Promise<TestDatabase> {
  const folder = temporaryFolder("store");
  return stores(`sqlite:${join(folder, "slipway.db")}`, async () => {});
}

export async function makePostgres(server: string): Promise<TestDatabase> {
  const name = `slipway_${process.pid}_${crypto.randomUUID().slice(0, 8)}`;
  await administer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return stores(url.href, () => administer(server, `drop database if exists ${name} with (force)`));
}

async function administer(server: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

export const testThread = new URL("./store-thread-program.ts", import.meta.url);

/** A store that also knows the operations of tests. */
export function openTestStore(url: string, clock: Clock = systemClock): Promise<Store> {
  return openStore({ url, log: pino({ level: "silent" }), clock, threadProgram: testThread });
}

function stores(url: string, removeDatabase: () => Promise<void>): TestDatabase {
  const opened: Store[] = [];
  return {
    url,
    async open() {
      const store = await openTestStore(url);
      opened.push(store);
      return store;
    },
    async remove() {
      await Promise.all(opened.map((store) => store.close()));
      await removeDatabase();
    },
  };
}
