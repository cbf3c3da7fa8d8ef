import { Database as SqliteFile, type Statement } from "bun:sqlite";
import type { Query, QueryAnswer } from "../query/kysely-dialect.ts";
import { storable } from "../query/row.ts";

/** The queries of the product are a few hundred texts; beyond this the oldest prepared one is dropped. */
const maxStatements = 500;

type Parameter = string | number | null;

/** One connection to the file. Every call is synchronous and short; the caller decides what runs where. */
export interface SqliteConnection {
  execute<R>(query: Query): QueryAnswer<R>;
  /** For statements that are no queries: pragmas, begin, commit. */
  run(sql: string): void;
  /** False once SQLite has undone a transaction by itself, as it does when the disk is full. */
  isInTransaction(): boolean;
  close(): void;
}

export function connect(path: string, options: { readonly: boolean }): SqliteConnection {
  const file = new SqliteFile(
    path,
    options.readonly ? { readonly: true } : { create: true, readwrite: true },
  );
  const statements = new Map<string, { statement: Statement; isReader: boolean }>();

  const prepare = (sql: string) => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = file.prepare(sql);
    const prepared = { statement, isReader: statement.columnNames.length > 0 };
    statements.set(sql, prepared);
    if (statements.size > maxStatements) dropOldest();
    return prepared;
  };
  const dropOldest = () => {
    for (const [sql, { statement }] of statements) {
      statement.finalize();
      statements.delete(sql);
      return;
    }
  };

  function execute<R>({ sql, parameters }: Query): QueryAnswer<R> {
    const { statement, isReader } = prepare(sql);
    const values = storable(parameters) as Parameter[];
    if (isReader) return { rows: statement.all(...values) as R[], changes: 0, newId: 0 };
    const { changes, lastInsertRowid } = statement.run(...values);
    return { rows: [], changes, newId: Number(lastInsertRowid) };
  }

  return {
    execute,
    run: (sql) => void execute({ sql, parameters: [] }),
    isInTransaction: () => file.inTransaction,
    close() {
      for (const { statement } of statements.values()) statement.finalize();
      statements.clear();
      file.close(false);
    },
  };
}
