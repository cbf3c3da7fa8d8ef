import { BoundedMap } from "../../bounded-map.ts";
import type { Store } from "../../model/store.ts";
import type { TaskWait } from "../../model/task.ts";
import { projectWaits } from "./project-wait.ts";

/** Why no runner can take the queued tasks of a project; null: one can. */
export type WaitOf = (projectId: number) => Promise<TaskWait | null>;

const keptMs = 1000;
const maxProjects = 10_000;

/**
 * `WaitOf` for deliveries. Reads a project at most once a second, because many deliveries may arrive. A lasting reason
 * is read each time.
 */
export function buildWaitCache(store: Pick<Store, "runners" | "now">): WaitOf {
  const cached = new BoundedMap<number, { wait: Promise<TaskWait | null>; untilMs: number }>(maxProjects);
  const read = async (projectId: number) =>
    (await projectWaits(store, [projectId], store.now()))[projectId] ?? null;
  return async (projectId) => {
    const kept = cached.get(projectId);
    if (kept !== undefined && performance.now() < kept.untilMs) return kept.wait;
    const wait = read(projectId);
    cached.set(projectId, { wait, untilMs: performance.now() + keptMs });
    const isKept = await wait.then(
      (found) => !found?.isLasting,
      () => false,
    );
    if (!isKept) cached.delete(projectId);
    return wait;
  };
}
