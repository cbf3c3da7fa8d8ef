import { gitOriginOf } from "../../model/git/git-url.ts";
import type { Project } from "../../model/project.ts";
import { boundSecrets } from "../../model/sealed.ts";
import { reasonText } from "../../reason/reason.ts";

/**
 * Names of the secrets of the repository's server, when a change moves the repository to another server. They must be
 * deleted: otherwise a manager could have them sent to a server of their own.
 */
export function boundSecretsOf(before: Project, after: Project): string[] {
  return gitOriginOf(before.git.url) === gitOriginOf(after.git.url) ? [] : Object.values(boundSecrets);
}

export function droppedWarnings(dropped: string[], before: Project, after: Project): string[] {
  const [from, to] = [gitOriginOf(before.git.url), gitOriginOf(after.git.url)];
  return dropped.map((title) => reasonText("secret_dropped", { noun: title, from, to }));
}
