import { type Kysely, sql } from "kysely";

const rowsAtOnce = 200;

/** Converts the JSON of a column, some rows at a time. */
export async function convertJson(
  db: Kysely<unknown>,
  table: string,
  key: string,
  column: string,
  change: (value: unknown) => unknown,
): Promise<void> {
  const [named, id, value] = [sql.table(table), sql.ref(key), sql.ref(column)];
  for (let last = -1; ; ) {
    const { rows } = await sql<{
      id: number;
      value: string;
    }>`select ${id} as id, ${value} as value from ${named}
      where ${id} > ${last} and ${value} is not null order by ${id} limit ${sql.lit(rowsAtOnce)}`.execute(db);
    for (const row of rows) {
      const changed = JSON.stringify(change(JSON.parse(row.value)));
      await sql`update ${named} set ${value} = ${changed} where ${id} = ${row.id}`.execute(db);
    }
    const end = rows.at(-1);
    if (end === undefined) return;
    last = Number(end.id);
  }
}
