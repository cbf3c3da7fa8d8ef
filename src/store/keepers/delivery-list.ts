import { type Expression, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from "kysely";
import {
  type DeliveryFilter,
  type DeliveryPlace,
  type DeliveryStatus,
  unverifiedCodes,
} from "../../model/delivery.ts";
import { totalCap } from "../query/page.ts";
import type { Schema } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";
import { askedProjects, isOfProjects, newestOfProjects } from "./asked-projects.ts";
import { walkNewest } from "./newest-walk.ts";

type Deliveries = SelectQueryBuilder<Schema, "deliveries", object>;

/** Values of remote_ip of what people or the server itself started, which needs no signature. */
const ownSenders = ["test", "replay", "poll"];

/** A filter with group and permissions resolved. `projectIds` null: no project filter, includes project 0. */
export interface ResolvedFilter
  extends Pick<DeliveryFilter, "status" | "code" | "from" | "to" | "search" | "wasVerified"> {
  projectIds: number[] | null;
  /** Only deliveries after this place, newest first. */
  place?: DeliveryPlace;
  statuses?: readonly DeliveryStatus[];
  author?: string;
  /** A further condition that no index answers. */
  also?: RawBuilder<SqlBool>;
}

export async function resolve(scope: Scope, filter: DeliveryFilter): Promise<ResolvedFilter> {
  return { ...filter, projectIds: await askedProjects(scope, filter) };
}

/** All deliveries that match a filter, unordered: for counting. */
export function matching(scope: Scope, filter: ResolvedFilter): Deliveries {
  const { projectIds, search } = filter;
  let found = inState(scope, filter);
  if (projectIds !== null) found = found.where(isOfProjects(scope, projectIds));
  if (search !== undefined && search !== "") found = found.where((eb) => eb.or(searched(search)));
  return found;
}

/**
 * The newest deliveries that match a filter, at least the first `count`. Where one index cannot return them in order
 * (several projects, or a search over three columns), each part returns its own newest by its index, and only those are
 * sorted, never all matches. `total` is null if it has to be counted.
 */
export async function newest(
  scope: Scope,
  filter: ResolvedFilter,
  count: number,
): Promise<{ found: Deliveries; total: number | null }> {
  const { db, dialect } = scope;
  const { projectIds, search } = filter;
  const newestIds = (found: Deliveries) => inOrder(found).select("deliveries.id").limit(count);
  if (search !== undefined && search !== "") {
    const all = { ...filter, search: "" };
    const [first, ...more] = searched(search).map((isFound) =>
      db.selectFrom(newestIds(matching(scope, all).where(isFound)).as("part")).select("part.id"),
    );
    if (first === undefined) return { found: matching(scope, filter), total: null };
    const ids = more.reduce((union, part) => union.unionAll(part), first);
    return { found: db.selectFrom("deliveries").where("deliveries.id", "in", ids), total: null };
  }
  if (projectIds === null || projectIds.length === 1) return { found: matching(scope, filter), total: null };
  const all = inState(scope, filter);
  const walked = await walkNewest(scope, inOrder(all), projectIds, count);
  if (walked !== null) {
    const found = db.selectFrom("deliveries").where(dialect.isAmong("deliveries.id", walked.ids));
    return { found, total: walked.isAll ? Math.min(walked.ids.length, totalCap) : null };
  }
  const found = newestOfProjects(scope, "deliveries", projectIds, (isOfProject) =>
    newestIds(all.where(isOfProject)),
  );
  return { found, total: null };
}

function inOrder(found: Deliveries): Deliveries {
  return found.orderBy("created_at", "desc").orderBy("deliveries.id", "desc");
}

function inState({ db }: Scope, filter: ResolvedFilter): Deliveries {
  const { status, code, from, to, place, statuses, author, also, wasVerified } = filter;
  let found: Deliveries = db.selectFrom("deliveries");
  if (status !== undefined) found = found.where(isExactly("status", status));
  // The code of an accepted delivery is its status, which is in the index by time.
  if (code !== undefined) found = found.where(isExactly(code === "accepted" ? "status" : "code", code));
  if (from !== undefined) found = found.where("created_at", ">=", from.getTime());
  if (to !== undefined) found = found.where("created_at", "<", to.getTime());
  if (statuses !== undefined) found = found.where("status", "in", statuses);
  if (author !== undefined) found = found.where("author", "=", author);
  if (also !== undefined) found = found.where(also);
  if (wasVerified)
    found = found.where("code", "not in", unverifiedCodes).where("remote_ip", "not in", ownSenders);
  return place === undefined ? found : after(found, place);
}

/** The partial indexes exclude accepted deliveries; a query must state the same condition to use them. */
function isExactly(column: "status" | "code", value: string): RawBuilder<SqlBool> {
  const name = sql.ref(column);
  const isOther = value === "accepted" ? sql`` : sql` and ${name} <> 'accepted'`;
  return sql<SqlBool>`(${name} = ${value}${isOther})`;
}

/** The first condition uses the index; the second excludes deliveries of the same moment that were already listed. */
function after(found: Deliveries, { created_at, id }: DeliveryPlace): Deliveries {
  const time = created_at.getTime();
  return found
    .where("created_at", "<=", time)
    .where((eb) => eb.or([eb("created_at", "<", time), eb("deliveries.id", "<", id)]));
}

/** People paste a commit's first digits. Fewer digits would match too many. */
export const shortCommit = /^[0-9a-f]{7,39}$/i;

/** The partial indexes require "not empty", and a database uses one only if the query states that condition. */
function searched(search: string): Expression<SqlBool>[] {
  return ["host_delivery_id", "commit", "ref"].map((column) => {
    const name = sql.ref(column);
    const isSame = sql<SqlBool>`(${name} = ${search} and ${name} <> '')`;
    if (column !== "commit" || !shortCommit.test(search)) return isSame;
    // All values with this prefix: hexadecimal digits end with f, so g is the upper bound.
    const start = search.toLowerCase();
    return sql<SqlBool>`(${name} >= ${start} and ${name} < ${`${start}g`} and ${name} <> '')`;
  });
}
