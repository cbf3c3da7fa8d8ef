import type { Execute, QueryAnswer } from "./kysely-dialect.ts";
import type { MadeUnit, Scope } from "./scope.ts";

/** Stands in a query's parameters for the id that an earlier query of the same unit answers. */
export interface IdOf {
  idOf: number;
}

export function idOf(position: number): IdOf {
  return { idOf: position };
}

/** The parameters of a query, with the ids that earlier ones of its unit answered. */
export function withIds(parameters: readonly unknown[], answers: readonly QueryAnswer[]): readonly unknown[] {
  if (!parameters.some(isIdOf)) return parameters;
  return parameters.map((value) => (isIdOf(value) ? newIdIn(answers[value.idOf]) : value));
}

function isIdOf(value: unknown): value is IdOf {
  return typeof value === "object" && value !== null && "idOf" in value;
}

/** The id of the row that an insert made. */
export function newIdIn(answer: QueryAnswer | undefined): number {
  const [row] = (answer?.rows ?? []) as { id: number }[];
  const id = row?.id ?? answer?.newId ?? 0;
  if (id === 0) throw new Error("The database answered no id for a new row.");
  return id;
}

/** Runs the queries of a unit one after the other in one transaction. */
export function runMadeUnit({ transact }: Pick<Scope, "transact">, unit: MadeUnit): Promise<QueryAnswer[]> {
  return transact(({ execute }) => runQueries(execute, unit));
}

/** Runs the queries of a unit one after the other, in the transaction that is open. */
export async function runQueries(execute: Execute, unit: MadeUnit): Promise<QueryAnswer[]> {
  const answers: QueryAnswer[] = [];
  for (const { sql, parameters } of unit)
    answers.push(await execute({ sql, parameters: withIds(parameters, answers) }));
  return answers;
}
