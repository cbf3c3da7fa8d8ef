import type { Project } from "../model/project.ts";
import type { DomainRule } from "../model/service/route-place.ts";
import type { Keepers } from "../model/store.ts";

/** `anyDomain` is the setting routes.anyDomain. */
export async function domainRuleOf(
  { groups }: { groups: Pick<Keepers["groups"], "byId"> },
  { groupId, allowedDomains }: Pick<Project, "groupId" | "allowedDomains">,
  anyDomain: boolean,
): Promise<DomainRule> {
  const group = groupId === null ? null : await groups.byId(groupId);
  return { ofProject: allowedDomains, ofGroup: group?.allowedDomains ?? null, anyDomain };
}
