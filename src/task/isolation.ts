import type { Keepers } from "../model/store.ts";

export interface Isolation {
  /** Whether a user who is not an admin may write scripts that can read the runner's files. */
  isExposed: boolean;
  /** Names of enabled runners whose scripts run as the runner's user. */
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
