import type { SelectQueryBuilder } from "kysely";
import type { Schema } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";

/** For fewer projects, the newest rows of each are found faster, by an index that begins with the project. */
const manyProjects = 30;
/** How many rows are read, as a multiple of those that are wanted. The second is tried if the first finds too few. */
const readPerWanted = [4, 32] as const;
const leastWanted = 250;
const mostRead = 50_000;

export interface Walked {
  /** Newest first. */
  ids: number[];
  /** There are no further rows. */
  isAll: boolean;
}

/**
 * The newest `count` rows that belong to one of many projects, found among the newest rows of all projects. Null: there
 * are too few projects, or too few of the rows belong to them, so that the rows of each project have to be read.
 */
export async function walkNewest(
  { db, dialect }: Scope,
  /** All that match, newest first: by time, or tasks by id alone. */
  found: SelectQueryBuilder<Schema, "tasks", object> | SelectQueryBuilder<Schema, "deliveries", object>,
  projectIds: number[],
  count: number,
  isByTime = true,
): Promise<Walked | null> {
  if (projectIds.length < manyProjects) return null;
  const all = found as SelectQueryBuilder<Schema, "tasks", object>;
  for (const times of readPerWanted) {
    const limit = Math.min(times * Math.max(count, leastWanted), Math.max(count, mostRead));
    const walked = all.select(["id", "project_id", "created_at"]).limit(limit).as("walked");
    const rows = await db
      .selectFrom(walked)
      .select("walked.id")
      .where(dialect.isAmong("walked.project_id", projectIds))
      .$if(isByTime, (query) => query.orderBy("walked.created_at", "desc"))
      .orderBy("walked.id", "desc")
      .limit(count)
      .execute();
    const ids = rows.map(({ id }) => id);
    if (ids.length >= count) return { ids, isAll: false };
    const read = await db
      .selectFrom(walked)
      .select((eb) => eb.fn.countAll<number>().as("total"))
      .executeTakeFirstOrThrow();
    if (Number(read.total) < limit) return { ids, isAll: true };
  }
  return null;
}
