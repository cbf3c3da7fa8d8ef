import { Database as SqliteFile, type Statement } from "bun:sqlite";
import { Fault, messageOf } from "../../errors.ts";
import { codeOf } from "../query/error-code.ts";
import type { Query, QueryAnswer } from "../query/kysely-dialect.ts";
import { storable } from "../query/row.ts";

/** The product uses a few hundred query texts; beyond this number the oldest prepared one is dropped. */
const maxStatements = 500;

/** SQLite's error codes for a file with wrong content. */
const damages = /^SQLITE_(?:CORRUPT|NOTADB)/;

type Parameter = string | number | null;

/** One connection to the file. Every call blocks its thread. */
export interface SqliteConnection {
  execute<R>(query: Query): QueryAnswer<R>;
  /** For statements that are not queries: pragmas, begin, commit. */
  run(sql: string): void;
  /** False after SQLite itself rolled back a transaction, for example because the disk is full. */
  isInTransaction(): boolean;
  close(): void;
}

export function connect(path: string): SqliteConnection {
  const file = new SqliteFile(path, { create: true, readwrite: true });
  const statements = new Map<string, { statement: Statement; hasRows: boolean }>();

  const prepare = (sql: string) => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = file.prepare(sql);
    const prepared = { statement, hasRows: statement.columnNames.length > 0 };
    statements.set(sql, prepared);
    const [oldest] = statements;
    if (statements.size > maxStatements && oldest !== undefined) {
      oldest[1].statement.finalize();
      statements.delete(oldest[0]);
    }
    return prepared;
  };

  function execute<R>({ sql, parameters }: Query): QueryAnswer<R> {
    try {
      const { statement, hasRows } = prepare(sql);
      const values = storable(parameters).map(bound);
      if (hasRows) return { rows: statement.all(...values) as R[], changes: 0, newId: 0 };
      const { changes, lastInsertRowid } = statement.run(...values);
      return { rows: [], changes, newId: Number(lastInsertRowid) };
    } catch (error) {
      throw damages.test(codeOf(error)) ? damaged(path, error) : error;
    }
  }

  return {
    execute,
    run: (sql) => void execute({ sql, parameters: [] }),
    isInTransaction: () => file.inTransaction,
    close() {
      for (const { statement } of statements.values()) statement.finalize();
      file.close(false);
    },
  };
}

/** A list is one parameter, which the query reads as JSON. */
function bound(value: unknown): Parameter {
  return Array.isArray(value) ? JSON.stringify(value) : (value as Parameter);
}

function damaged(path: string, error: unknown): Fault {
  const wayOut = `Move it away and run "slipway restore FILE" with your last backup.`;
  return new Fault("unavailable", `The database ${path} is damaged (${messageOf(error)}). ${wayOut}`, {
    cause: error,
  });
}
