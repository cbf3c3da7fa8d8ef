import type { SelectQueryBuilder } from "kysely";
import type { Page, PageRequest } from "../../model/page.ts";
import type { Database } from "./dialect.ts";
import type { Schema } from "./schema.ts";

/** Totals are exact up to this number; a longer list reports this number, so that no list costs a full scan. */
export const totalCap = 10_000;
export const maxPageSize = 200;

type Found<T extends keyof Schema> = SelectQueryBuilder<Schema, T, object>;

export function sliceOf(request: PageRequest) {
  const page = Math.max(1, Math.trunc(request.page));
  const pageSize = Math.min(maxPageSize, Math.max(1, Math.trunc(request.pageSize)));
  return { page, pageSize, offset: (page - 1) * pageSize };
}

/** One page of the rows of `found`, in the order of `sort`. */
export async function pageOf<T extends keyof Schema, M>(
  db: Database,
  found: Found<T>,
  request: PageRequest,
  sort: (query: Found<T>) => Found<T>,
  read: (row: object) => M,
): Promise<Page<M>> {
  const { page, pageSize, offset } = sliceOf(request);
  const rows = await sort(found).selectAll().limit(pageSize).offset(offset).execute();
  return { items: rows.map(read), total: await cappedCount(db, found), page, pageSize };
}

/** Counts the rows of `found`, at most `totalCap`. */
export async function cappedCount<T extends keyof Schema>(db: Database, found: Found<T>): Promise<number> {
  const counted = found
    .select((eb) => eb.lit(1).as("one"))
    .limit(totalCap)
    .as("counted");
  const row = await db
    .selectFrom(counted)
    .select((eb) => eb.fn.countAll<number>().as("total"))
    .executeTakeFirstOrThrow();
  return row.total;
}
