import type { DeliveryFilter } from "../model/delivery.ts";
import type { Scope } from "./scope.ts";

/** The deliveries that a filter lets through, in no order yet. */
export function findDeliveries({ db, dialect }: Scope, filter: DeliveryFilter) {
  const { projectId, groupId, status, code, from, to, search, visibleProjectIds } = filter;
  let found = db.selectFrom("deliveries");
  if (projectId !== undefined) found = found.where("project_id", "=", projectId);
  if (groupId !== undefined)
    found = found.where("project_id", "in", (eb) =>
      eb.selectFrom("projects").select("projects.id").where("projects.group_id", "=", groupId),
    );
  if (visibleProjectIds !== undefined) found = found.where(dialect.isAmong("project_id", visibleProjectIds));
  if (status !== undefined) found = found.where("status", "=", status);
  if (code !== undefined) found = found.where("code", "=", code);
  if (from !== undefined) found = found.where("created_at", ">=", from.getTime());
  if (to !== undefined) found = found.where("created_at", "<", to.getTime());
  if (search !== undefined && search !== "")
    found = found.where((eb) =>
      eb.or([eb("host_delivery_id", "=", search), eb("commit", "=", search), eb("ref", "=", search)]),
    );
  return found;
}
