import type { SignInProvider } from "../../config/sign-in-provider.ts";
import { Fault } from "../../errors.ts";
import { newReason } from "../../reason/reason.ts";
import type { Person } from "./person.ts";

type Rules = Pick<
  SignInProvider,
  "title" | "domains" | "organisations" | "groups" | "roles" | "groupsClaim" | "type"
>;

/** Whether the settings depend on the groups of a person. */
export function needsGroups({ organisations, groups, roles }: Omit<Rules, "title">): boolean {
  return organisations.length + groups.length + roles.length > 0;
}

/** Throws if the settings do not let this person in. */
export function refuseOutsider(provider: Rules, { groups, emails }: Person): void {
  const { title, domains, organisations } = provider;
  if (groups === null && needsGroups(provider))
    throw new Fault("forbidden", newReason("provider_no_groups", { title, claim: provider.groupsClaim }));
  const held = (groups ?? []).map((group) => group.toLowerCase());
  const isMember = (organisation: string) =>
    held.some((group) => group === organisation || /^[/:]/.test(after(group, organisation)));
  const isIn = {
    domain: emails.some((email) => domains.includes(email.slice(email.lastIndexOf("@") + 1).toLowerCase())),
    organisation: organisations.some((name) => isMember(name.toLowerCase())),
    group: provider.groups.some((name) => held.includes(name.toLowerCase())),
  };
  const isRefused =
    (domains.length > 0 && !isIn.domain) ||
    (organisations.length > 0 && !isIn.organisation) ||
    (provider.groups.length > 0 && !isIn.group);
  if (isRefused) throw new Fault("forbidden", newReason("provider_outsider", { title }));
}

/** What follows an organisation in the name of its team or subgroup; empty: it is not one. */
function after(group: string, organisation: string): string {
  return group.startsWith(organisation) ? group.slice(organisation.length) : "";
}

/** What the provider's groups make of a person here. Groups of ours that `roles` does not name are left alone. */
export interface Roles {
  /** Null: the provider does not decide it. */
  isAdmin: boolean | null;
  /** Our groups by name; null: not a member. */
  members: { group: string; permission: "view" | "manage" | null }[];
}

export function rolesOf({ roles }: Pick<SignInProvider, "roles">, groups: readonly string[]): Roles {
  const held = new Set(groups.map((group) => group.toLowerCase()));
  const isHeld = (group: string) => held.has(group.toLowerCase());
  const admin = roles.filter((role) => "admin" in role);
  const permissions = new Map<string, "view" | "manage" | null>();
  for (const role of roles) {
    if ("admin" in role) continue;
    const before = permissions.get(role.member) ?? null;
    permissions.set(role.member, isHeld(role.group) && before !== "manage" ? role.permission : before);
  }
  return {
    isAdmin: admin.length === 0 ? null : admin.some(({ group }) => isHeld(group)),
    members: [...permissions].map(([group, permission]) => ({ group, permission })),
  };
}
