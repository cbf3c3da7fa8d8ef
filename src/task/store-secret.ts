import { Fault } from "../errors.ts";
import type { NewAuditEntry } from "../model/audit.ts";
import type { NewSecret, ProjectSecret, SecretForm, SecretScope } from "../model/project.ts";
import { isReservedSecret } from "../model/sealed.ts";
import { operation } from "../model/store.ts";
import { newReason } from "../reason/reason.ts";
import { existing } from "../revision.ts";
import { sealedBytes } from "../secrets.ts";

const maxSecrets = 100;
/** Of all secrets of a project: the kernel limits the environment of a program, and a runner searches the log for them. */
const maxTotalBytes = 512 * 1024;

interface StoredSecret extends NewSecret {
  projectId: number;
  /** Absent: a stored secret keeps its own. */
  scope: SecretScope | undefined;
  as: SecretForm | undefined;
  audited: NewAuditEntry;
}

/** Stores a secret for the scripts of a project, within the limits. */
export const storeSecret = operation(
  "storeSecret",
  async ({ projects, audit }, stored: StoredSecret): Promise<void> => {
    const { projectId, name, ciphertext, scope, as, audited } = stored;
    existing(await projects.hold(projectId), "project", projectId);
    const held = (await projects.secrets(projectId)).filter((secret) => !isReservedSecret(secret.name));
    const others = held.filter((secret) => secret.name !== name);
    if (others.length >= maxSecrets)
      throw new Fault("conflict", newReason("secrets_full", { count: others.length }));
    const bytes = bytesOf(others) + sealedBytes(ciphertext);
    if (bytes > maxTotalBytes)
      throw new Fault(
        "conflict",
        newReason("secrets_large", { kib: Math.ceil(bytes / 1024), limit: maxTotalBytes / 1024 }),
      );
    await projects.setSecret(projectId, name, ciphertext);
    await projects.setSecretUse(projectId, name, {
      ...(scope === undefined ? {} : { scope }),
      ...(as === undefined ? {} : { as }),
    });
    await audit.add(audited);
  },
);

interface UseChange {
  projectId: number;
  name: string;
  use: Partial<Pick<ProjectSecret, "as"> & { scope: SecretScope }>;
  audited: NewAuditEntry;
}

/**
 * Chooses the stages that get a stored secret, and its form. More stages need its value again: otherwise a manager could have builds,
 * which need no approval, print a secret that only deploys get.
 */
export const changeSecretUse = operation(
  "changeSecretUse",
  async ({ projects, audit }, { projectId, name, use, audited }: UseChange): Promise<boolean> => {
    await projects.hold(projectId);
    const held = (await projects.secrets(projectId)).find((secret) => secret.name === name);
    if (!held) return false;
    if (use.scope === "all" && held.scope === "deploy")
      throw new Fault("conflict", newReason("secret_scope_wider", { name }));
    await projects.setSecretUse(projectId, name, use);
    await audit.add(audited);
    return true;
  },
);

function bytesOf(secrets: ProjectSecret[]): number {
  return secrets.reduce((sum, { ciphertext }) => sum + sealedBytes(ciphertext), 0);
}
