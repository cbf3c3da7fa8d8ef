import type { CompiledQuery } from "kysely";
import type { Database, Dialect } from "./dialect.ts";
import type { Query } from "./kysely-dialect.ts";
import type { Scope } from "./scope.ts";

/** Placeholder of a value while the query's text is built. */
class Slot {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A frequent query whose text is built once per database; each use only binds values by name. */
export type FixedQuery<Values extends object, Row> = (scope: Scope, values: Values) => Promise<Row[]>;

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
  const slots = Object.fromEntries(names.map((name) => [name, new Slot(name)])) as unknown as Values;
  const texts = new Map<Dialect["name"], Query>();
  return async (scope, values) => {
    const { sql, parameters } =
      texts.get(scope.dialect.name) ?? build(scope.db, slots, scope.dialect).compile(scope.db);
    texts.set(scope.dialect.name, { sql, parameters });
    const given = values as Record<string, unknown>;
    const bound = parameters.map((value) => (value instanceof Slot ? (given[value.name] ?? null) : value));
    return (await scope.execute<Row>({ sql, parameters: bound })).rows;
  };
}
