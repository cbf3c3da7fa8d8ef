import type { ProjectKeeper } from "../../model/project.ts";
import { reservedSecrets } from "../../model/sealed.ts";

/** Answers whether a project has a token for commit statuses. */
export type HasStatusToken = (projectId: number) => Promise<boolean>;

export function buildStatusTokens({
  projects,
}: {
  projects: Pick<ProjectKeeper, "secretNames">;
}): HasStatusToken {
  return async (projectId) => {
    const names = await projects.secretNames([projectId]);
    return names.some(({ name }) => name === reservedSecrets.status);
  };
}
