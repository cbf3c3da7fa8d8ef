import { sql } from "kysely";
import type { DeliveryFilter, DeliveryPlace, ScannedDelivery } from "../model/delivery.ts";
import { newest, resolve } from "./delivery-list.ts";
import { json, optional, plain, rowShape, time } from "./row.ts";
import type { Scope } from "./scope.ts";

const shape = rowShape<ScannedDelivery, "deliveries">({
  id: plain(),
  created_at: time,
  project_id: plain(),
  event: plain(),
  ref: plain(),
  code: plain(),
  normalized: optional(json()),
});

/** One stretch of a list that is walked from its newest entry. */
export async function scanDeliveries(
  scope: Scope,
  filter: DeliveryFilter,
  place: DeliveryPlace | null,
  limit: number,
): Promise<ScannedDelivery[]> {
  const resolved = await resolve(scope, filter);
  const rows = await newest(scope, place === null ? resolved : { ...resolved, place }, limit)
    .select(shape.columns)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
  return rows.map(shape.read);
}

/** Of the deliveries, those whose ref has a newer one that was accepted. */
export async function overtakenDeliveries(
  { lists, dialect }: Scope,
  ids: readonly number[],
): Promise<number[]> {
  const rows = await lists
    .selectFrom("deliveries as older")
    .select("older.id")
    .where(dialect.isAmong("older.id", ids))
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom("deliveries as newer")
          .select(sql.lit(1).as("one"))
          .whereRef("newer.project_id", "=", "older.project_id")
          .where("newer.status", "=", "accepted")
          .whereRef("newer.created_at", ">=", "older.created_at")
          .whereRef("newer.event", "=", "older.event")
          .whereRef("newer.ref", "=", "older.ref")
          .where((inner) =>
            inner.or([
              inner("newer.created_at", ">", inner.ref("older.created_at")),
              inner("newer.id", ">", inner.ref("older.id")),
            ]),
          ),
      ),
    )
    .execute();
  return rows.map(({ id }) => id);
}
