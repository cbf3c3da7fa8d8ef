import type { Group } from "../../model/group.ts";
import type { Project } from "../../model/project.ts";
import { isReservedSecret } from "../../model/sealed.ts";
import type { ShownSecret } from "../../model/settings/stored-secret.ts";
import type { Keepers } from "../../model/store.ts";
import { newReason, type Reason } from "../../reason/reason.ts";

/**
 * What a project has of its group. One rule decides between the two: what the project has itself, a variable or a secret,
 * hides what the group has under the same name, for all stages.
 */
export interface Inherited {
  group: Pick<Group, "id" | "name">;
  variables: ({ name: string; value: string } & Hidden)[];
  secrets: (ShownSecret & Hidden)[];
}

interface Hidden {
  /** What of the project hides it; null: the scripts of the project get it. */
  hiddenBy: "variable" | "secret" | null;
}

export type ValueKeepers = Pick<Keepers, "projects" | "groups">;
type ValueOwner = Pick<Project, "id" | "parentId" | "groupId" | "env">;

/** An environment has the secrets of its project too. */
function secretOwners({ id, parentId }: ValueOwner): number[] {
  return parentId === null ? [id] : [id, parentId];
}

/** Null: the project is in no group. */
export async function inheritedBy(
  { projects, groups }: ValueKeepers,
  project: ValueOwner,
): Promise<Inherited | null> {
  const { groupId, env } = project;
  const group = groupId === null ? null : await groups.byId(groupId);
  if (group === null) return null;
  const own = new Set((await projects.secretNames(secretOwners(project))).map(({ name }) => name));
  const withHidden = <Value extends { name: string }>(value: Value) => ({
    ...value,
    hiddenBy: own.has(value.name)
      ? ("secret" as const)
      : Object.hasOwn(env, value.name)
        ? ("variable" as const)
        : null,
  });
  const secrets = await groups.secretNames([group.id]);
  return {
    group: { id: group.id, name: group.name },
    variables: Object.entries(group.env).map(([name, value]) => withHidden({ name, value })),
    secrets: secrets.map(({ name, scope, as }) => withHidden({ name, scope, as })),
  };
}

/** Secrets of the group for which nobody has chosen who gets them, where builds need no approval but deploys do. */
export async function inheritedWarnings(keepers: ValueKeepers, project: Project): Promise<Reason[]> {
  const inherited = project.deploy.approval === "none" ? null : await inheritedBy(keepers, project);
  const open = inherited?.secrets.filter(({ scope, hiddenBy }) => scope === null && hiddenBy === null) ?? [];
  if (inherited === null || open.length === 0) return [];
  const names = open.map(({ name }) => name).join(", ");
  return [newReason("warn_group_secrets_all", { group: inherited.group.name, names })];
}

/** The project with all plain variables of its scripts. */
export function withInherited<P extends Pick<Project, "env">>(project: P, inherited: Inherited | null): P {
  const given = inherited?.variables.filter(({ hiddenBy }) => hiddenBy === null) ?? [];
  const env = Object.fromEntries(given.map(({ name, value }) => [name, value]));
  return { ...project, env: { ...env, ...project.env } };
}

/** The project with all plain variables of its scripts, those of its group among them. */
export async function withGroupVariables<P extends ValueOwner>(
  keepers: ValueKeepers,
  project: P,
): Promise<P> {
  return withInherited(project, await inheritedBy(keepers, project));
}

/** Names of the secrets that scripts of the project get, those of its group among them. */
export async function secretNamesOf(keepers: ValueKeepers, project: ValueOwner): Promise<string[]> {
  const names = (await keepers.projects.secretNames(secretOwners(project))).map(({ name }) => name);
  const own = [...new Set(names)];
  const inherited = (await inheritedBy(keepers, project))?.secrets ?? [];
  const given = inherited.filter(({ hiddenBy }) => hiddenBy === null).map(({ name }) => name);
  return [...own.filter((name) => !isReservedSecret(name)), ...given].sort();
}
