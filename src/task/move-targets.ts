import type { Project } from "../model/project.ts";
import { isSeen } from "../model/runner.ts";
import type { Store } from "../model/store.ts";
import { transferFeature } from "../runner/protocol.ts";

/** The connected runners that a project can be moved to, by name. */
export async function moveTargetsOf(
  store: Pick<Store, "runners" | "now">,
  { id, homeRunnerId }: Pick<Project, "id" | "homeRunnerId">,
): Promise<{ id: number; name: string }[]> {
  const now = store.now();
  const { items } = await store.runners.list({ page: 1, pageSize: 200 });
  const able = items.filter(
    (runner) =>
      runner.id !== homeRunnerId &&
      !runner.disabled &&
      isSeen(runner, now) &&
      runner.features.includes(transferFeature),
  );
  const allowed = await Promise.all(
    able.map(async (runner) => {
      const [found] = (await store.runners.underRules([id], runner.id))[id] ?? [];
      return found?.rule === null || found?.rule === "wait_home";
    }),
  );
  return able
    .filter((_runner, index) => allowed[index])
    .map(({ id, name }) => ({ id, name }))
    .toSorted((a, b) => a.name.localeCompare(b.name));
}
