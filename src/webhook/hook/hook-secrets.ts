import { Fault } from "../../errors.ts";
import { sealedPurpose } from "../../model/sealed.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";
import type { Secrets } from "../../secrets.ts";

/** The decrypted secrets of a webhook. */
export interface HookSecrets {
  /** Secrets accepted at `nowMs`; empty: nothing is verified. */
  accepted(nowMs: number): string[];
  /** Secrets that have expired. */
  ended(nowMs: number): string[];
}

/** Decrypts the secrets of a webhook. Throws if one cannot be decrypted: that is a failure, never "no secret". */
export function openSecrets(config: WebhookConfig, secrets: Secrets): HookSecrets {
  const { projectId, secret, secondSecret, secondSecretUntil } = config;
  const first = opened(secrets, sealedPurpose.webhookSecret(projectId), secret);
  const second = opened(secrets, sealedPurpose.webhookSecondSecret(projectId), secondSecret);
  // A second secret alone verifies nothing: without a first one, the project has chosen not to verify.
  const both = first.length === 0 ? [] : [...first, ...second];
  const isSecondOver = (nowMs: number) => secondSecretUntil !== null && secondSecretUntil.getTime() <= nowMs;
  return {
    accepted: (nowMs) => (isSecondOver(nowMs) ? first : both),
    ended: (nowMs) => (isSecondOver(nowMs) ? second : []),
  };
}

/** With an empty secret, every sender could create a valid signature. */
function opened(secrets: Secrets, purpose: string, ciphertext: string | null): string[] {
  if (ciphertext === null) return [];
  const secret = secrets.open(purpose, ciphertext);
  if (secret === "") throw new Fault("internal", `The stored secret of ${purpose} is empty; save it again.`);
  return [secret];
}

/** The secrets as they are stored, encrypted. */
export type StoredSecrets = Pick<WebhookConfig, "secret" | "secondSecret" | "secondSecretUntil">;

/** Changes of the secrets; absent fields stay unchanged. */
export interface SecretChange {
  /** Plain text; "" keeps the stored one. */
  secret?: string;
  clearSecret?: boolean;
  /** Accepted in addition to the first secret. "" keeps the stored one. */
  secondSecret?: string;
  clearSecondSecret?: boolean;
  /** With a new `secret` and no `secondSecret`, the previous secret becomes the second one until then. */
  secondSecretUntil?: Date | null;
}

/** The stored secrets with a change applied. */
export function changedSecrets(before: WebhookConfig, change: SecretChange, secrets: Secrets): StoredSecrets {
  const { secret, clearSecret, secondSecret, clearSecondSecret, secondSecretUntil } = change;
  const { projectId } = before;
  const sealFirst = (plain: string) => secrets.seal(sealedPurpose.webhookSecret(projectId), plain);
  const sealSecond = (plain: string) => secrets.seal(sealedPurpose.webhookSecondSecret(projectId), plain);
  const after: StoredSecrets = {
    secret: clearSecret ? null : before.secret,
    secondSecret: clearSecondSecret ? null : before.secondSecret,
    secondSecretUntil: secondSecretUntil === undefined ? before.secondSecretUntil : secondSecretUntil,
  };
  if (clearSecondSecret) after.secondSecretUntil = null;
  if (secret) {
    const isRotation = !secondSecret && secondSecretUntil && before.secret !== null;
    // A ciphertext is bound to its column, so it cannot simply be moved.
    if (isRotation)
      after.secondSecret = sealSecond(
        secrets.open(sealedPurpose.webhookSecret(projectId), before.secret ?? ""),
      );
    after.secret = sealFirst(secret);
  }
  if (secondSecret) after.secondSecret = sealSecond(secondSecret);
  return after;
}
