import { hostname } from "node:os";
import type pg from "pg";
import { pause } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import { connect, settingsOf } from "./postgres-client.ts";
import { faultOf } from "./postgres-fault.ts";

/**
 * Registers the servers that run on a PostgreSQL database. Each holds a shared advisory lock on its own connection
 * while it runs; a command that must run alone takes the same lock exclusively. PostgreSQL itself frees the lock of a
 * killed server.
 */
const lockName = "slipway servers";
/** How long to wait for a server that is just stopping. */
const aloneWaitMs = 3_000;
const joinWaitMs = 10_000;
const askEveryMs = 100;
/** A connection that broke silently is detected after this time. */
const lookEveryMs = 10_000;
const retryAfterMs = 500;
const answerTimeoutMs = 3_000;
/** How long to wait for a connection that does not answer. */
const leaveTimeoutMs = 1_000;

interface Held {
  client: pg.Client;
  /** Aborted when the connection is gone, and the lock with it. */
  isGone: AbortSignal;
}

/** Registers this server until the returned function is called; takes the lock again whenever it is lost. */
export async function joinServers(url: string): Promise<() => Promise<void>> {
  const closing = new AbortController();
  let held = await join(url);

  async function keep(): Promise<void> {
    while (!closing.signal.aborted) {
      await pause(lookEveryMs, AbortSignal.any([closing.signal, held.isGone]));
      while (!closing.signal.aborted && !(await isHeld(held))) {
        await leave(held);
        held = await join(url).catch(async () => {
          await pause(retryAfterMs, closing.signal);
          return held;
        });
      }
    }
  }

  const keeping = keep();
  return async () => {
    closing.abort();
    await keeping;
    await leave(held);
  };
}

function isHeld({ client }: Held): Promise<boolean> {
  return client.query("select 1").then(
    () => true,
    () => false,
  );
}

async function join(url: string): Promise<Held> {
  const held = await hold(url, "pg_try_advisory_lock_shared", joinWaitMs);
  if ("others" in held)
    throw new Fault(
      "unavailable",
      "The key of this database is being exchanged by `slipway key rotate`; start again when it is done.",
    );
  return held;
}

/**
 * Makes this process the only one on the database until the returned function is called; rejects while a server runs.
 */
export async function beAlone(url: string): Promise<() => Promise<void>> {
  const held = await hold(url, "pg_try_advisory_lock", aloneWaitMs);
  if (!("others" in held)) return () => leave(held);
  const { others } = held;
  const who = others.length === 1 ? "A Slipway server is" : `${others.length} Slipway servers are`;
  throw new Fault(
    "conflict",
    `${who} running on this database (${others.join(", ")}): stop them all first, do this, then start them again.`,
  );
}

type TryLock = "pg_try_advisory_lock" | "pg_try_advisory_lock_shared";

/** The lock on its own connection; or its holder, if it was not free in time. */
async function hold(url: string, tryLock: TryLock, waitMs: number): Promise<Held | { others: string[] }> {
  // The application name identifies this server to others, also where they may not see its address.
  const application_name = `slipway on ${hostname().slice(0, 40)}, pid ${process.pid}`;
  const client = await connect({ ...settingsOf(url), application_name, query_timeout: answerTimeoutMs });
  const gone = new AbortController();
  client.on("end", () => gone.abort());
  const held = { client, isGone: gone.signal };
  try {
    const endAt = performance.now() + waitMs;
    for (;;) {
      const { rows } = await client.query(`select ${tryLock}(hashtextextended($1, 0)) as done`, [lockName]);
      if (rows[0]?.done === true) return held;
      if (performance.now() > endAt) break;
      await Bun.sleep(askEveryMs);
    }
    const others = await holders(client);
    await leave(held);
    return { others };
  } catch (error) {
    await leave(held);
    throw faultOf(error);
  }
}

async function holders(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select coalesce(activity.application_name, '') as name
     from pg_locks held left join pg_stat_activity activity on activity.pid = held.pid
     where held.locktype = 'advisory' and held.objsubid = 1 and held.granted
       and held.database = (select oid from pg_database where datname = current_database())
       and ((held.classid::bigint << 32) | held.objid::bigint) = hashtextextended($1, 0)
     order by name`,
    [lockName],
  );
  return rows.map(({ name }) => name.replace(/^slipway on /, "") || "unnamed");
}

async function leave({ client }: Held): Promise<void> {
  const isOver = new AbortController();
  await Promise.race([client.end().catch(() => {}), pause(leaveTimeoutMs, isOver.signal)]);
  isOver.abort();
}
