import { type Kysely, type SelectQueryBuilder, sql } from "kysely";
import type { Page, PageRequest } from "../../model/page.ts";
import { type FixedQuery, fixedQuery } from "./fixed-query.ts";
import { pageOf } from "./page.ts";
import { type Fields, type RowShape, rowShape, type StoredRow } from "./row.ts";
import type { Schema, TableName } from "./schema.ts";
import { orFault, type Scope, type Sentences } from "./scope.ts";

/** Fields with the values that a row must have. */
type Match<M> = Partial<M>;
type Order<M> = (keyof M & string) | `${keyof M & string} desc`;

/** A table whose rows are read and written as models. */
export interface Table<M, T extends TableName> extends RowShape<M, T> {
  /** Null matches nothing here. */
  one(scope: Scope, match: Match<M>): Promise<M | null>;
  /** Reads the current row and locks it until the transaction ends. */
  hold(scope: Scope, match: Match<M>): Promise<M | null>;
  all(scope: Scope, match: Match<M>, order: readonly Order<M>[], limit?: number): Promise<M[]>;
  page(scope: Scope, found: Found<T>, request: PageRequest, order: readonly Order<M>[]): Promise<Page<M>>;
  create(scope: Scope, model: Partial<M>, faults?: Sentences): Promise<M>;
  /** Creates the row, or replaces the one with the same values of `keys`. */
  put(scope: Scope, keys: readonly (keyof M & string)[], model: Partial<M>, faults?: Sentences): Promise<M>;
  /** The row after the change, also if nothing is changed; null if there is none. */
  change(scope: Scope, match: Match<M>, set: Partial<M>, faults?: Sentences): Promise<M | null>;
  delete(scope: Scope, match: Match<M>): Promise<number>;
}

type Found<T extends TableName> = SelectQueryBuilder<Schema, T, object>;
/** The database without the types of its tables: names come from the declared fields. */
type AnyDatabase = Kysely<Record<string, StoredRow & { id: number }>>;

export function table<M, T extends TableName>(name: T, fields: Fields<M>): Table<M, T> {
  const shape = rowShape<M, T>(fields);
  const dbOf = ({ db }: Pick<Scope, "db">) => db as unknown as AnyDatabase;
  const selects = new Map<string, FixedQuery<StoredRow, object>>();
  const inserts = new Map<string, FixedQuery<StoredRow, object>>();
  /** A query that is built once for each list of columns. */
  const select = (scope: Scope, match: Match<M>, isHeld: boolean) => {
    const row = shape.update(match) as StoredRow;
    const columns = Object.keys(row);
    const key = `${isHeld} ${columns.join()}`;
    const known =
      selects.get(key) ??
      fixedQuery<StoredRow, object>(columns, (db, values, { hasRowLocks }) => {
        let found = dbOf({ db })
          .selectFrom(name as string)
          .selectAll();
        for (const column of columns) found = found.where(column, "=", values[column] as never);
        // SQLite runs transactions one after the other, so it needs no row lock.
        return isHeld && hasRowLocks ? found.forNoKeyUpdate() : found;
      });
    selects.set(key, known);
    return known(scope, row);
  };
  /** Built once for each list of columns, as above. */
  const insert = (scope: Scope, row: StoredRow) => {
    const columns = Object.keys(row);
    const key = columns.join();
    const known =
      inserts.get(key) ??
      fixedQuery<StoredRow, object>(columns, (db, values) =>
        dbOf({ db })
          .insertInto(name as string)
          .values(values as never)
          .returningAll(),
      );
    inserts.set(key, known);
    return known(scope, row);
  };
  const readFirst = ([row]: object[]) => (row === undefined ? null : shape.read(row));
  /** The condition of an update or delete; null matches null. */
  const where = (match: Match<M>) => {
    const terms = Object.entries(shape.update(match) as StoredRow).map(([column, value]) =>
      value === null ? sql`${sql.ref(column)} is null` : sql`${sql.ref(column)} = ${value}`,
    );
    return sql<boolean>`${sql.join(terms, sql` and `)}`;
  };
  const sorted = (order: readonly Order<M>[]) =>
    order.map((term) => {
      const [field = "", direction] = term.split(" ");
      return sql`${sql.ref(shape.columnOf(field as keyof M & string))} ${sql.raw(direction ?? "asc")}`;
    });
  return {
    ...shape,
    one: async (scope, match) => readFirst(await select(scope, match, false)),
    hold: async (scope, match) => readFirst(await select(scope, match, true)),
    async all(scope, match, order, limit) {
      let found = dbOf(scope)
        .selectFrom(name as string)
        .selectAll();
      if (Object.keys(match).length > 0) found = found.where(where(match));
      for (const term of sorted(order)) found = found.orderBy(term);
      if (limit !== undefined) found = found.limit(limit);
      return (await found.execute()).map(shape.read);
    },
    page: (scope, found, request, order) =>
      pageOf(
        scope.db,
        found,
        request,
        (query) => sorted(order).reduce((before, term) => before.orderBy(term), query),
        shape.read,
      ),
    async create(scope, model, faults = {}) {
      const [row] = await orFault(scope.dialect, insert(scope, shape.insert(model) as StoredRow), faults);
      if (row === undefined) throw new Error(`The database answered no new row of ${name}.`);
      return shape.read(row);
    },
    async put(scope, keys, model, faults = {}) {
      const row = shape.insert(model) as StoredRow;
      const insert = dbOf(scope)
        .insertInto(name as string)
        .values(row as never)
        .onConflict((conflict) => conflict.columns(keys.map(shape.columnOf)).doUpdateSet(row as never))
        .returningAll();
      return shape.read(await orFault(scope.dialect, insert.executeTakeFirstOrThrow(), faults));
    },
    async change(scope, match, set, faults = {}) {
      const row = shape.update(set) as StoredRow;
      if (Object.keys(row).length === 0) return this.one(scope, match);
      const update = dbOf(scope)
        .updateTable(name as string)
        .set(row as never)
        .where(where(match))
        .returningAll();
      return readFirst(await orFault(scope.dialect, update.execute(), faults));
    },
    async delete(scope, match) {
      const result = await dbOf(scope)
        .deleteFrom(name as string)
        .where(where(match))
        .executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}
