import { type CompiledQuery, sql } from "kysely";
import type { Database, Dialect } from "./dialect.ts";
import type { Query, QueryAnswer } from "./kysely-dialect.ts";
import type { Scope } from "./scope.ts";

/** Placeholder of a value while the query's text is built. */
class Slot {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/**
 * For `limit`. With a parameter there, SQLite plans the query again at every use, which takes longer than running it.
 */
export const onlyOne = sql.lit(1);

/** A frequent query whose text is built once per database; each use only binds values by name. */
export interface FixedQuery<Values extends object, Row> {
  (scope: Scope, values: Values): Promise<Row[]>;
  /** The id of the row that an insert made. */
  newId(scope: Scope, values: Values): Promise<number>;
}

/**
 * Building and compiling a query costs several times what SQLite needs to run it. `build` must pass the values to the
 * query unchanged and must not branch on them.
 */
export function fixedQuery<Values extends object, Row>(
  names: readonly (keyof Values & string)[],
  build: (
    db: Database,
    values: Values,
    dialect: Dialect,
  ) => { compile(executor: Database): CompiledQuery<Row> },
): FixedQuery<Values, Row> {
  const templates = new Map<Dialect["name"], Query>();
  const templateOf = ({ db, dialect }: Scope): Query => {
    const known = templates.get(dialect.name);
    if (known !== undefined) return known;
    const slots = Object.fromEntries(names.map((name) => [name, new Slot(name)])) as unknown as Values;
    const { sql, parameters } = build(db, slots, dialect).compile(db);
    templates.set(dialect.name, { sql, parameters });
    return { sql, parameters };
  };
  const execute = (scope: Scope, values: object): Promise<QueryAnswer<Row>> => {
    const { sql, parameters } = templateOf(scope);
    const given = values as Record<string, unknown>;
    return scope.execute<Row>({
      sql,
      parameters: parameters.map((value) => (value instanceof Slot ? (given[value.name] ?? null) : value)),
    });
  };
  const run = async (scope: Scope, values: Values) => (await execute(scope, values)).rows;
  const newId = async (scope: Scope, values: Values) => newIdIn(await execute(scope, values));
  return Object.assign(run, { newId });
}

function newIdIn({ rows, newId }: QueryAnswer): number {
  const [row] = rows as { id: number }[];
  const id = row?.id ?? newId;
  if (id === 0) throw new Error("The database answered no id for a new row.");
  return id;
}
