import { Fault } from "../errors.ts";
import type { NewAuditEntry } from "../model/audit.ts";
import { isReservedSecret } from "../model/sealed.ts";
import type { NewSecret, SecretKeeper, StoredSecret } from "../model/settings/stored-secret.ts";
import type { SecretForm, SecretScope } from "../model/settings/variables.ts";
import { type OperationKeepers, operation } from "../model/store.ts";
import { newReason } from "../reason/reason.ts";
import { existing } from "../revision.ts";
import { sealedBytes } from "../secrets.ts";

const maxSecrets = 100;
/** Of all secrets of a project, and of those of a group: the kernel limits the environment of a program, and a runner searches the log for them. */
const maxTotalBytes = 512 * 1024;

/** Whose secret it is. */
export interface SecretOwner {
  noun: "project" | "group";
  id: number;
}

interface SecretToStore extends NewSecret {
  owner: SecretOwner;
  /** Absent: a stored secret keeps its own. */
  scope: SecretScope | undefined;
  as: SecretForm | undefined;
  audited: NewAuditEntry;
}

/** The keeper of the secrets of a project or group, which nobody else changes until the transaction ends. */
async function held(
  { projects, groups }: OperationKeepers,
  { noun, id }: SecretOwner,
): Promise<SecretKeeper> {
  const keeper = noun === "project" ? projects : groups;
  existing(await keeper.hold(id), noun, id);
  return keeper;
}

/** Stores a secret for the scripts of a project, or of the projects of a group, within the limits. */
export const storeSecret = operation("storeSecret", async (keepers, stored: SecretToStore): Promise<void> => {
  const { owner, name, ciphertext, scope, as, audited } = stored;
  const keeper = await held(keepers, owner);
  const secrets = (await keeper.secrets(owner.id)).filter((secret) => !isReservedSecret(secret.name));
  const others = secrets.filter((secret) => secret.name !== name);
  if (others.length >= maxSecrets)
    throw new Fault(
      "conflict",
      newReason("secrets_full", { count: others.length, owner: newReason(`noun_${owner.noun}`) }),
    );
  const bytes = bytesOf(others) + sealedBytes(ciphertext);
  if (bytes > maxTotalBytes)
    throw new Fault(
      "conflict",
      newReason("secrets_large", {
        owner: newReason(`noun_${owner.noun}`),
        ...{ kib: Math.ceil(bytes / 1024), limit: maxTotalBytes / 1024 },
      }),
    );
  await keeper.setSecret(owner.id, name, ciphertext);
  await keeper.setSecretUse(owner.id, name, {
    ...(scope === undefined ? {} : { scope }),
    ...(as === undefined ? {} : { as }),
  });
  await keepers.audit.add(audited);
});

interface UseChange {
  owner: SecretOwner;
  name: string;
  use: Partial<Pick<StoredSecret, "as"> & { scope: SecretScope }>;
  audited: NewAuditEntry;
}

/**
 * Chooses the stages that get a stored secret, and its form. More stages need its value again: otherwise a manager could have builds,
 * which need no approval, print a secret that only deploys get.
 */
export const changeSecretUse = operation(
  "changeSecretUse",
  async (keepers, { owner, name, use, audited }: UseChange): Promise<boolean> => {
    const keeper = await held(keepers, owner);
    const stored = (await keeper.secrets(owner.id)).find((secret) => secret.name === name);
    if (!stored) return false;
    if (use.scope === "all" && stored.scope === "deploy")
      throw new Fault("conflict", newReason("secret_scope_wider", { name }));
    await keeper.setSecretUse(owner.id, name, use);
    await keepers.audit.add(audited);
    return true;
  },
);

function bytesOf(secrets: StoredSecret[]): number {
  return secrets.reduce((sum, { ciphertext }) => sum + sealedBytes(ciphertext), 0);
}
