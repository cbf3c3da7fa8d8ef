import { sql } from "kysely";
import type {
  DeliveryFilter,
  DeliveryPlace,
  NormalizedEvent,
  ScannedDelivery,
} from "../../model/delivery.ts";
import { type EventJson, eventFromJson, eventJson } from "../../model/event-json.ts";
import { type Field, optional, plain, rowShape, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { newest, resolve } from "./delivery-list.ts";

export const eventField: Field<NormalizedEvent> = {
  encode: (event) => JSON.stringify(eventJson(event)),
  decode: (stored) => eventFromJson(JSON.parse(String(stored)) as EventJson),
};

const shape = rowShape<ScannedDelivery, "deliveries">({
  id: plain(),
  created_at: time,
  project_id: plain(),
  code: plain(),
  remote_ip: plain(),
  normalized: optional(eventField),
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

/**
 * Of the deliveries, those whose ref has a newer one that was built, by a task of its own or one that it was merged
 * into, or that deleted the ref. A replay is as new as what it replays; it deletes nothing, and neither does a test.
 * Asked by the index of refs: few are as busy as a project, and "not empty" is stated because that index serves only
 * queries that say so. Branches of forks have names alike, so the whole ref is compared as well.
 */
export async function overtakenDeliveries({ db, dialect }: Scope, ids: readonly number[]): Promise<number[]> {
  const wholeRefOf = (table: string) => dialect.textIn(`${table}.normalized`, "rawRef");
  const newer = sql`select 1 from deliveries as newer ${dialect.byIndex("deliveries_ref")}
    where newer.ref = older.ref and newer.ref <> '' and newer.created_at >= older.created_at
      and newer.project_id = older.project_id
      and (newer.created_at > older.created_at or newer.id > older.id)
      and (newer.replay_of is null or newer.replay_of >= older.id)
      and (newer.status in ('accepted', 'merged')
        or (newer.code = 'ref_deleted' and newer.remote_ip not in ('test', 'replay')))
      and ${wholeRefOf("newer")} = ${wholeRefOf("older")}`;
  const { rows } = await sql<{ id: number }>`select older.id from deliveries as older
    where ${dialect.isAmong("older.id", ids)} and exists (${newer})`.execute(db);
  return rows.map(({ id }) => id);
}
