import { sql } from "kysely";
import { Fault } from "../../errors.ts";
import type { DeliveryKeeper } from "../../model/delivery.ts";
import { newReason } from "../../reason/reason.ts";
import type { Scope } from "../query/scope.ts";

const maxBuckets = 1000;
/** A million deliveries are counted in steps of this many buckets, so that no query exceeds the statement timeout. */
const bucketsPerQuery = 12;

type CountByStatus = DeliveryKeeper["countByStatus"];

/** Deliveries per status and time bucket, read from one covering index. */
export async function countByStatus(
  { db, dialect }: Scope,
  { visibleProjectIds, from, to, bucketSeconds }: Parameters<CountByStatus>[0],
): ReturnType<CountByStatus> {
  const bucketMs = bucketSeconds * 1000;
  const firstMs = from.getTime() - (from.getTime() % bucketMs);
  if ((to.getTime() - firstMs) / bucketMs > maxBuckets)
    throw new Fault("invalid", newReason("buckets_over", { limit: maxBuckets }));
  const counts: Awaited<ReturnType<CountByStatus>> = [];
  const stepMs = bucketMs * bucketsPerQuery;
  for (let startMs = firstMs; startMs < to.getTime(); startMs += stepMs) {
    const bucket = sql<number>`created_at - created_at % ${sql.lit(bucketMs)}`;
    const rows = await db
      .selectFrom("deliveries")
      .select((eb) => [bucket.as("bucket"), "status", eb.fn.sum<number>("count").as("total")])
      .where("created_at", ">=", Math.max(startMs, from.getTime()))
      .where("created_at", "<", Math.min(startMs + stepMs, to.getTime()))
      .$if(visibleProjectIds !== undefined, (query) =>
        query.where(dialect.isAmong("project_id", visibleProjectIds ?? [])),
      )
      .groupBy([bucket, "status"])
      .orderBy(bucket)
      .execute();
    for (const row of rows)
      counts.push({ bucketStart: new Date(row.bucket), status: row.status, count: Number(row.total) });
  }
  return counts;
}
