import { newReason, type Sentence } from "../reason/reason.ts";
/**
 * The purpose that each stored ciphertext is bound to. Key rotation walks this list, so every kind of stored secret needs
 * an entry.
 */
export const sealedPurpose = {
  projectSecret: (projectId: number, name: string) => `project ${projectId} secret ${name}`,
  groupSecret: (groupId: number, name: string) => `group ${groupId} secret ${name}`,
  webhookSecret: (projectId: number) => `project ${projectId} webhook secret`,
  webhookSecondSecret: (projectId: number) => `project ${projectId} webhook second secret`,
  defaultNotify: () => "default notification target",
  providerGrant: (tokenHash: string) => `session ${tokenHash} provider grant`,
  hostToken: (userId: number, origin: string) => `user ${userId} host token ${origin}`,
} as const;

/** Secrets of a project that are not given to its scripts. The colon keeps them apart from names that people choose. */
export const reservedSecrets = {
  /** How the repository is cloned: a GitCredential as JSON. */
  credential: ":credential",
  /** Key that signs outgoing webhooks. */
  notify: ":notify",
  /** Token that reports commit statuses to the Git host. */
  status: ":status",
} as const;

/** Secrets that are sent only to the server of the repository. */
export const boundSecrets = [reservedSecrets.credential, reservedSecrets.status] as const;

/** Their names for people. */
export function titlesOf(names: readonly string[]): Sentence[] {
  return boundSecrets
    .filter((name) => names.includes(name))
    .map((name) =>
      newReason(name === reservedSecrets.credential ? "noun_clone_credential" : "noun_status_token"),
    );
}

/** Name of the value in the database that holds the default notification target, with its encrypted address. */
export const defaultTargetName = "default-notify";

/** Name of the secret that holds the address of a notification target and its signing secret. */
export function targetSecretName(targetId: string): string {
  return `:notify-target ${targetId}`;
}

export function isReservedSecret(name: string): boolean {
  return name.startsWith(":");
}
