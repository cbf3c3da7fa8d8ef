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

/** A section of a list that is read from its newest entry. */
export async function scanDeliveries(
  scope: Scope,
  filter: DeliveryFilter,
  place: DeliveryPlace | null,
  limit: number,
): Promise<ScannedDelivery[]> {
  const resolved = await resolve(scope, filter);
  const { found } = await newest(scope, place === null ? resolved : { ...resolved, place }, limit);
  const rows = await found
    .select(shape.columns)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
  return rows.map(shape.read);
}

/**
 * Of the given deliveries, those whose ref has a newer delivery that was built (by its own task or a merged one) or
 * that deleted the ref. A replay is as new as its original; replays and tests delete nothing.
 *
 * The query uses the partial index of refs, which requires "not empty". Branches of different forks may share a name,
 * so the full ref is compared too.
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
