import { BoundedMap } from "../../bounded-map.ts";
import { reservedSecrets } from "../../model/sealed.ts";
import type { Store } from "../../model/store.ts";

const maxProjects = 10_000;

/** Answers whether a project has a token for commit statuses: asked for every event of a task, and rarely changed. */
export type HasStatusToken = (projectId: number) => Promise<boolean>;

export function buildStatusTokens(store: Pick<Store, "projects" | "version">): HasStatusToken {
  const known = new BoundedMap<number, { version: number; hasToken: boolean }>(maxProjects);
  return async (projectId) => {
    // Taken before the read: a change during it makes the answer old, never the other way round.
    const version = store.version();
    const last = known.get(projectId);
    if (last !== undefined && last.version === version) return last.hasToken;
    const secrets = await store.projects.secrets(projectId);
    const hasToken = secrets.some(({ name }) => name === reservedSecrets.status);
    if (version === null) return hasToken;
    known.set(projectId, { version, hasToken });
    return hasToken;
  };
}
