import { gitOriginOf } from "../../model/git-url.ts";
import type { Project, ProjectKeeper } from "../../model/project.ts";
import { reservedSecrets } from "../../model/sealed.ts";

/** What is sent to the server of the repository, and to no other. */
const boundSecrets = {
  "clone credential": reservedSecrets.credential,
  "status token": reservedSecrets.status,
} as const;

/**
 * Deletes what was stored for the server that the repository was on, when the change moves it to another one: else a
 * person who may change the address could have it sent to a server of their own. Returns the names of what is deleted.
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
      `The ${title} was stored for ${from} and is deleted, because git.url names ${to} now: store a new one.`,
  );
}
