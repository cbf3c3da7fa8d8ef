import pg from "pg";
import type { Query, QueryAnswer } from "../query/kysely-dialect.ts";
import { storable } from "../query/row.ts";
import { faultOf } from "./postgres-fault.ts";

/** For a server that accepts connections but does not answer: only a timeout on our side ends the wait. */
export const answerTimeoutMs = 12_000;
/** A request reports an unreachable database within this time. */
const connectTimeoutMs = 3_000;
/** A start or a command has more time: the machine may be busy with the start of everything else. */
const firstConnectTimeoutMs = 10_000;
/** Queries beyond this many different texts are not prepared by name, so that the server's memory stays bounded. */
const maxPreparedNames = 500;

/** A commit must be on disk before it is acknowledged, whatever the server's default is. */
export function settingsOf(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: "slipway",
    options: "-c synchronous_commit=on",
    keepAlive: true,
    types: { getTypeParser: parserOf },
  };
}

/**
 * A connection of the pool. The pool has one limit for connecting and for the wait until one of its connections is
 * free: a burst may wait longer for its turn than an unreachable server may take.
 */
export class PooledClient extends pg.Client {
  constructor(settings?: pg.ClientConfig) {
    super({ ...settings, connectionTimeoutMillis: connectTimeoutMs });
  }
}

/** A connection outside of the pool: of a start, a migration or a command. */
export async function connect(settings: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client({ ...settings, connectionTimeoutMillis: firstConnectTimeoutMs });
  client.on("error", () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    throw faultOf(error);
  }
}

type Queryable = Pick<pg.Pool, "query"> | Pick<pg.ClientBase, "query">;

const preparedNames = new Map<string, string>();

/** The name under which connections keep a query prepared; undefined: there are too many already. */
function preparedNameOf(text: string): string | undefined {
  const known = preparedNames.get(text);
  if (known !== undefined || preparedNames.size >= maxPreparedNames) return known;
  const name = `slipway-${preparedNames.size}`;
  preparedNames.set(text, name);
  return name;
}

/** Without `timeoutMs`, a server that does not answer is waited for. */
export async function run<R>(
  target: Queryable,
  { sql, parameters }: Query,
  timeoutMs?: number,
): Promise<QueryAnswer<R>> {
  const name = preparedNameOf(sql);
  const query = {
    text: sql,
    values: [...storable(parameters)],
    ...(name === undefined ? {} : { name }),
    ...(timeoutMs === undefined ? {} : { query_timeout: timeoutMs }),
  };
  try {
    const { rows, rowCount } = await (target as pg.ClientBase).query(query);
    return { rows: (rows ?? []) as R[], changes: rowCount ?? 0, newId: 0 };
  } catch (error) {
    throw faultOf(error);
  }
}

const bigintType = 20;
const numericType = 1700;
/** Ids, times and counts are safe integers in JavaScript; PostgreSQL returns their sums as numeric. */
function parserOf(type: number, format?: "text" | "binary"): (value: string) => unknown {
  if (type === bigintType || type === numericType) return Number;
  return pg.types.getTypeParser(type, format ?? "text") as (value: string) => unknown;
}
