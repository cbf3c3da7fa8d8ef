import { mkdirSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "../../support/free-port.ts";
import { startPostgres } from "../../support/postgres.ts";
import type { Surroundings } from "../surroundings.ts";
import { Link } from "./link.ts";
import type { Instance } from "./part.ts";
import { addRemoteRunner, serverFlags, startAll } from "./server.ts";
import { servicePart } from "./service-part.ts";
import { answersReady, slipwayPart } from "./slipway-process.ts";
import type { DatabaseControl, World } from "./world.ts";

const leaseMs = 5_000;
const appRole = "app";

/** Two servers on one PostgreSQL, each with its own runner over the network. */
export async function postgresWorld(around: Surroundings): Promise<World> {
  const { folder, program } = around;
  const service = await startPostgres();
  const postgres = servicePart(service, {
    name: "postgres",
    role: "postgres",
    politeSignal: "SIGINT",
    isReady: () => asAdmin(service.url, "select 1"),
  });
  // A separate user, so that its permission to connect can be revoked.
  await asAdmin(service.url, `create role ${appRole} login password 'app'`);
  await asAdmin(service.url, `create database ${appRole} owner ${appRole}`);
  const databaseLinks: Link[] = [];
  const fronts: Link[] = [];
  const instances: Instance[] = [];
  for (const number of [1, 2]) {
    const name = `server ${number}`;
    const port = freePort();
    const dataDir = join(folder, `data-${number}`);
    mkdirSync(dataDir);
    const url = `http://127.0.0.1:${port}`;
    const front = await Link.open(`clients → ${name}`, port);
    const toDatabase = await Link.open(`${name} → postgres`, Number(new URL(service.url).port));
    const part = slipwayPart({
      name,
      role: "server",
      program,
      command: "start",
      flags: {
        ...serverFlags(around, port, dataDir, leaseMs),
        "runner-enabled": "false",
        "database-pool-size": "5",
      },
      environment: {
        SLIPWAY_DATABASE_URL: `postgres://${appRole}:app@127.0.0.1:${toDatabase.port}/${appRole}`,
        SLIPWAY_DATA_ENCRYPTION_KEY: "11".repeat(32),
      },
      logFile: join(folder, `server-${number}.log`),
      isReady: () => answersReady(url),
    });
    fronts.push(front);
    databaseLinks.push(toDatabase);
    instances.push({ part, url, front: front.url, dataDir, port, upstream: [toDatabase] });
  }
  // One after the other, so that the first server creates the schema.
  for (const { part } of instances) await startAll([part]);
  const runners = await Promise.all(
    instances.map((instance, index) => addRemoteRunner(around, instances, instance, `runner ${index + 1}`)),
  );
  const ours = [...instances.map(({ part }) => part), ...runners.map(({ part }) => part)];
  return {
    setup: "postgres",
    program,
    folder,
    timeline: around.timeline,
    parts: [postgres, ...ours],
    instances,
    links: [...fronts, ...databaseLinks, ...runners.map(({ link }) => link), around.receiverLink],
    runnerTokens: runners.map(({ token }) => token),
    leaseMs,
    knowsReleases: around.knowsReleases,
    steps: [],
    services: [],
    database: controlOf(service.url),
    async stop() {
      for (const part of ours) {
        part.signal("SIGCONT");
        part.signal("SIGKILL");
      }
      await Promise.all(ours.map((part) => part.ended(10_000)));
      await service.stop();
    },
  };
}

function controlOf(url: string): DatabaseControl {
  const ofApp = `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${appRole}'`;
  return {
    async terminateBackends(which) {
      const locks = "and pid in (select pid from pg_locks where locktype = 'advisory')";
      await asAdmin(url, which === "all" ? ofApp : `${ofApp} ${locks}`);
    },
    async revoke() {
      await asAdmin(url, `alter role ${appRole} nologin`);
      await asAdmin(url, ofApp);
    },
    async grant() {
      await asAdmin(url, `alter role ${appRole} login`);
    },
  };
}

async function asAdmin(url: string, sql: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query(sql);
    return true;
  } finally {
    await client.end().catch(() => {});
  }
}
