import pg from "pg";
import { Fault } from "../../errors.ts";
import type { Execute, Query, QueryAnswer } from "../query/kysely-dialect.ts";
import { storable } from "../query/row.ts";
import { parserOf, preparedNameOf } from "./postgres-client.ts";
import { faultOf } from "./postgres-fault.ts";

/** A statement as the connection knows it. */
interface Prepared {
  name: string;
  /** Null: it has no rows, or the server has not described them yet. */
  readRow: ((values: readonly (string | null)[]) => object) | null;
}

interface Waiting {
  query: Query;
  resolve: (answer: QueryAnswer<never>) => void;
  reject: (error: unknown) => void;
}

/**
 * Sends the queries of one turn of the event loop to a connection together, in one round trip. For transactions only: the
 * first query that fails undoes those before it, and those after it are not executed.
 */
export function batchesOver(client: pg.ClientBase): Execute {
  const prepared = new Map<string, Prepared>();
  let waiting: Waiting[] = [];
  let isBusy = false;
  let isScheduled = false;

  function send(): void {
    isScheduled = false;
    const statements = waiting;
    waiting = [];
    isBusy = true;
    client.query(new Batch(statements, prepared, ended));
  }

  function ended(): void {
    isBusy = false;
    if (waiting.length > 0) schedule();
  }

  function schedule(): void {
    if (isScheduled || isBusy) return;
    isScheduled = true;
    setImmediate(send);
  }

  return <R>(query: Query) =>
    new Promise<QueryAnswer<R>>((resolve, reject) => {
      waiting.push({ query, resolve, reject });
      schedule();
    });
}

/** `pg` calls the methods with the messages of the server, as it does for its own queries. */
class Batch implements pg.Submittable {
  readonly #statements: readonly Waiting[];
  /** By text. */
  readonly #prepared: Map<string, Prepared>;
  readonly #ended: () => void;
  readonly #sent: Prepared[] = [];
  readonly #answers: QueryAnswer<never>[] = [];
  #rows: object[] = [];

  constructor(statements: readonly Waiting[], prepared: Map<string, Prepared>, ended: () => void) {
    this.#statements = statements;
    this.#prepared = prepared;
    this.#ended = ended;
  }

  submit(connection: pg.Connection): void {
    connection.stream.cork();
    try {
      for (const { query } of this.#statements) this.#send(connection, query);
      connection.sync();
    } finally {
      connection.stream.uncork();
    }
  }

  #send(connection: pg.Connection, { sql, parameters }: Query): void {
    const known = this.#prepared.get(sql);
    const statement = known ?? this.#prepare(connection, sql);
    this.#sent.push(statement);
    connection.bind({ statement: statement.name, values: storable(parameters).map(textOf) }, true);
    // The rows of a statement stay the same for as long as it is prepared.
    if (known === undefined) connection.describe({ type: "P", name: "" }, true);
    connection.execute({ portal: "" }, true);
  }

  #prepare(connection: pg.Connection, sql: string): Prepared {
    const knownName = preparedNameOf(sql);
    const statement: Prepared = { name: knownName === undefined ? "" : `batch ${knownName}`, readRow: null };
    // The statement exists if its first use has failed. Closing a missing statement is no error.
    connection.close({ type: "S", name: statement.name }, true);
    connection.parse({ name: statement.name, text: sql, types: [] }, true);
    if (statement.name !== "") this.#prepared.set(sql, statement);
    return statement;
  }

  handleRowDescription({ fields }: { fields: readonly pg.FieldDef[] }): void {
    const statement = this.#sent[this.#answers.length];
    if (statement !== undefined) statement.readRow = rowReaderOf(fields);
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const readRow = this.#sent[this.#answers.length]?.readRow;
    if (readRow) this.#rows.push(readRow(fields));
  }

  handleCommandComplete({ text }: { text: string }): void {
    const changes = Number(text.slice(text.lastIndexOf(" ") + 1)) || 0;
    this.#answers.push({ rows: this.#rows as never[], changes, newId: 0 });
    this.#rows = [];
  }

  handleReadyForQuery(): void {
    this.#settle(new Fault("internal", "The database answered too little."));
  }

  handleError(error: unknown): void {
    this.#settle(error);
  }

  /** After the first failure the server executes nothing more of the batch. */
  #settle(error: unknown): void {
    const done = this.#answers.length;
    for (const { query } of this.#statements.slice(done)) this.#prepared.delete(query.sql);
    this.#ended();
    for (const [index, { resolve, reject }] of this.#statements.entries()) {
      const answer = this.#answers[index];
      if (answer !== undefined) resolve(answer);
      else reject(index > done && error instanceof pg.DatabaseError ? skipped : faultOf(error));
    }
  }
}

const skipped = new Fault("internal", "The statement was not executed, because one before it failed.");

function rowReaderOf(fields: readonly pg.FieldDef[]): NonNullable<Prepared["readRow"]> {
  const columns = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }));
  return (values) => {
    const row: Record<string, unknown> = {};
    for (const [index, { name, parse }] of columns.entries()) {
      const value = values[index] ?? null;
      row[name] = value === null ? null : parse(value);
    }
    return row;
  };
}

/** The text form of a parameter. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return Array.isArray(value) ? `{${value.map(elementOf).join(",")}}` : String(value);
}

function elementOf(value: unknown): string {
  const text = textOf(value);
  return text === null ? "null" : `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
