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
