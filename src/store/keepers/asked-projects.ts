import type { SelectQueryBuilder, SqlBool } from "kysely";
import { type Expression, sql } from "kysely";
import type { Database } from "../query/dialect.ts";
import type { Schema } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";

interface AskedProjects {
  projectId?: number;
  groupId?: number;
  visibleProjectIds?: number[];
}

/** Ids of the projects that pass all three conditions; null: no project filter, includes project 0. */
export async function askedProjects({ db }: Scope, asked: AskedProjects): Promise<number[] | null> {
  const { projectId, groupId, visibleProjectIds } = asked;
  const sets: number[][] = [];
  if (projectId !== undefined) sets.push([projectId, ...(await environmentsOf(db, projectId))]);
  if (visibleProjectIds !== undefined) sets.push(visibleProjectIds);
  if (groupId !== undefined) {
    const rows = await db.selectFrom("projects").select("id").where("group_id", "=", groupId).execute();
    sets.push(rows.map((row) => row.id));
  }
  const [first, ...others] = sets.map((ids) => new Set(ids));
  return first === undefined ? null : [...first].filter((id) => others.every((ids) => ids.has(id)));
}

/** What is asked about a project is asked about its environments too. */
async function environmentsOf(db: Database, projectId: number): Promise<number[]> {
  const rows = await db.selectFrom("projects").select("id").where("parent_id", "=", projectId).execute();
  return rows.map(({ id }) => id);
}

export function isOfProjects({ dialect }: Scope, projectIds: number[]): Expression<SqlBool> {
  const [only] = projectIds;
  return projectIds.length === 1
    ? sql<SqlBool>`project_id = ${only}`
    : dialect.isAmong("project_id", projectIds);
}

type Listed = "deliveries" | "tasks";

/**
 * The rows that `newestOf` gives for the projects. For one project, an index returns them in order; for several, each
 * returns its own newest, and only these are sorted, never all matches.
 */
export function newestOfProjects<T extends Listed>(
  scope: Scope,
  table: T,
  projectIds: number[],
  newestIdsOf: (isOfProject: Expression<SqlBool>) => Expression<unknown>,
): SelectQueryBuilder<Schema, T, object> {
  const ids = scope.dialect.ofEach(projectIds, table, (projectId) =>
    newestIdsOf(sql<SqlBool>`project_id = ${projectId}`),
  );
  const found = scope.db.selectFrom(table) as unknown as SelectQueryBuilder<Schema, T, object>;
  return found.where(sql<SqlBool>`${sql.ref(`${table}.id`)} in (${ids})`);
}
