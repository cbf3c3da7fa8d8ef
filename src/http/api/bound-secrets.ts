import { gitOriginOf } from "../../model/git-url.ts";
import type { Project, ProjectKeeper } from "../../model/project.ts";
import { reservedSecrets } from "../../model/sealed.ts";

/** Secrets that are sent only to the server of the repository. */
const boundSecrets = {
  "clone credential": reservedSecrets.credential,
  "status token": reservedSecrets.status,
} as const;

/**
 * Deletes the secrets of the repository's server when a change moves the repository to another server. Otherwise a manager
 * could have them sent to a server of their own. Returns the names of the deleted secrets.
 */
export async function dropBoundSecrets(
  projects: Pick<ProjectKeeper, "deleteSecret">,
  before: Project,
  after: Project,
): Promise<string[]> {
  if (gitOriginOf(before.git.url) === gitOriginOf(after.git.url)) return [];
  const dropped: string[] = [];
  for (const [title, name] of Object.entries(boundSecrets))
    if (await projects.deleteSecret(before.id, name)) dropped.push(title);
  return dropped;
}

export function droppedWarnings(dropped: string[], before: Project, after: Project): string[] {
  const [from, to] = [gitOriginOf(before.git.url), gitOriginOf(after.git.url)];
  return dropped.map(
    (title) =>
      `The ${title} was stored for ${from} and is deleted, because git.url is now on ${to}: store a new one.`,
  );
}
