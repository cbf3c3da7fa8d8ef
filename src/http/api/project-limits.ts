import { actsAsAdmin } from "../../account/permissions.ts";
import { Fault } from "../../errors.ts";
import { type DeployRule, isWeaker } from "../../model/approval/deploy-rule.ts";
import type { GroupKeeper } from "../../model/group.ts";
import type { Project } from "../../model/project.ts";
import { namedDomains, refusedDomains } from "../../model/service/route-place.ts";
import { newReason } from "../../reason/reason.ts";
import { domainRuleOf } from "../../task/domain-rule.ts";
import { type ApiContext, callerOf } from "./context.ts";

type Groups = Pick<GroupKeeper, "byId">;

/**
 * A label gives access to runners and to what they can reach. Projects of a group may use only labels that an admin allowed
 * for the group; only an admin may add labels to a project without a group.
 */
export async function mayAskFor(
  c: ApiContext,
  groups: Groups,
  { groupId, labels }: Pick<Project, "groupId" | "labels">,
  held: string[],
): Promise<void> {
  const group = groupId === null ? null : await groups.byId(groupId);
  const isFree = group === null ? actsAsAdmin(callerOf(c)) : group.labels === null;
  if (isFree) return;
  const allowed = group?.labels ?? held;
  const refused = labels.filter((label) => !allowed.includes(label));
  if (refused.length === 0) return;
  const named = { labels: refused.join(", "), group: group?.name ?? "" };
  const message =
    group === null
      ? newReason("labels_no_group", named)
      : allowed.length === 0
        ? newReason("labels_none_of_group", named)
        : newReason("labels_of_group", { ...named, allowed: allowed.join(", ") });
  throw new Fault("invalid", newReason("labels_refused"), {
    fields: [{ field: "labels", message }],
  });
}

/**
 * A domain gives access to what its users send. Which ones a project may use is said by an admin, for the project or its group; if
 * nobody has said it, any free one, unless the setting routes.anyDomain is false. Domains that it had before the change stay,
 * except in another group.
 */
export async function mayUseDomains(
  c: ApiContext,
  { groups, anyDomain }: { groups: Groups; anyDomain: boolean },
  after: Pick<Project, "groupId" | "allowedDomains" | "pipeline" | "environments">,
  before: Pick<Project, "groupId" | "pipeline" | "environments"> | null,
): Promise<void> {
  if (actsAsAdmin(callerOf(c))) return;
  const held = before?.groupId === after.groupId ? namedDomains(before) : [];
  const rule = await domainRuleOf({ groups }, after, anyDomain);
  const fields = refusedDomains(namedDomains(after), held, rule);
  if (fields.length > 0) throw new Fault("invalid", newReason("routes_refused"), { fields });
}

/** A manager who could allow domains would not be bound by them. */
export function mayAllowDomains(
  c: ApiContext,
  before: string[] | null,
  after: string[] | null | undefined,
): void {
  if (after === undefined || actsAsAdmin(callerOf(c)) || JSON.stringify(before) === JSON.stringify(after))
    return;
  throw new Fault("forbidden", newReason("admins_only_domains"), {
    fields: [{ field: "allowedDomains", message: newReason("domains_admin") }],
  });
}

/** A manager who could turn the rule off would not be bound by it. */
export function mayWeaken(
  c: ApiContext,
  before: Pick<Project, "deploy">,
  after: DeployRule,
  field: "deploy" | "environments" = "deploy",
): void {
  if (actsAsAdmin(callerOf(c)) || !isWeaker(before.deploy, after)) return;
  const message = newReason("rule_weaker");
  throw new Fault("forbidden", newReason("approval_rule", { fault: message }), {
    fields: [{ field, message }],
  });
}
