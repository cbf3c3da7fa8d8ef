import type { Keepers } from "../model/store.ts";

export interface Isolation {
  /** Somebody who is no admin may write scripts that can read what belongs to a runner. */
  isExposed: boolean;
  /** Names of the enabled runners whose scripts run as their own user. */
  notIsolated: string[];
}

const maxRunners = 200;

export async function isolationOf({
  runners,
  permissions,
}: Pick<Keepers, "runners" | "permissions">): Promise<Isolation> {
  const { items } = await runners.list({ page: 1, pageSize: maxRunners });
  const notIsolated = items.filter((runner) => !runner.disabled && !runner.isolated).map(({ name }) => name);
  return { notIsolated, isExposed: notIsolated.length > 0 && (await permissions.hasOtherManagers()) };
}
