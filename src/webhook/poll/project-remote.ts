import { openRemote, type Remote, RemoteError, type RemoteOptions } from "../../git/remote.ts";
import { type GitUrlRules, gitAccessOf, gitUrlFault } from "../../model/git/git-url.ts";
import type { GitCredential, Project } from "../../model/project.ts";
import { reservedSecrets, sealedPurpose } from "../../model/sealed.ts";
import type { Store } from "../../model/store.ts";
import { newReason } from "../../reason/reason.ts";
import type { Secrets } from "../../secrets.ts";

export interface ProjectRemoteOptions extends Omit<RemoteOptions, "remote" | "stop" | "beforeEach"> {
  store: Store;
  secrets: Secrets;
  gitUrlRules: GitUrlRules;
}

/** The repository of a project at its host, read with the stored credential. Rejects with RemoteError. */
export async function openProjectRemote(
  project: Project,
  options: ProjectRemoteOptions,
  { stop, beforeEach }: Pick<RemoteOptions, "stop" | "beforeEach">,
): Promise<Remote> {
  const { allowInternal, temp, knownHosts, env } = options;
  const remote = await remoteOf(project, options);
  return openRemote({ remote, allowInternal, temp, knownHosts, env, stop, beforeEach });
}

async function remoteOf(project: Project, { store, secrets, gitUrlRules }: ProjectRemoteOptions) {
  const { url } = project.git;
  const fault = gitUrlFault(url, gitUrlRules);
  if (fault !== null) throw new RemoteError(newReason("git_url_refused", { why: fault }));
  const stored = await store.projects.secrets(project.id);
  const sealed = stored.find(({ name }) => name === reservedSecrets.credential);
  const access = gitAccessOf(url, gitUrlRules);
  if (sealed === undefined) return { url, ...access, credential: null };
  try {
    const purpose = sealedPurpose.projectSecret(project.id, sealed.name);
    const credential = JSON.parse(secrets.open(purpose, sealed.ciphertext)) as GitCredential;
    return { url, ...access, credential };
  } catch {
    throw new RemoteError(newReason("poll_credential"));
  }
}
