import { gitOriginOf } from "../../model/git/git-url.ts";
import type { Project } from "../../model/project.ts";
import { boundSecrets } from "../../model/sealed.ts";
import { newReason, type Reason, type Sentence } from "../../reason/reason.ts";

/**
 * Names of the secrets of the repository's server, when a change moves the repository to another server. They must be
 * deleted: otherwise a manager could have them sent to a server of their own.
 */
export function boundSecretsOf(before: Project, after: Project): string[] {
  return gitOriginOf(before.git.url) === gitOriginOf(after.git.url) ? [] : [...boundSecrets];
}

export function droppedWarnings(dropped: Sentence[], before: Project, after: Project): Reason[] {
  const [from, to] = [gitOriginOf(before.git.url), gitOriginOf(after.git.url)];
  return dropped.map((noun) => newReason("secret_dropped", { noun, from, to }));
}
