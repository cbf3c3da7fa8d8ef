import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { sealedPurpose } from "../../model/sealed.ts";
import type { Keepers, Store } from "../../model/store.ts";
import { buildSecrets, type Secrets } from "../../secrets.ts";
import { keyFileName, loadDataKey, makeKeyFile, nextKeyFileName, rememberKey } from "./data-key.ts";

/**
 * Gives the installation a new key file. The new key is on disk before anything is sealed with it; a crash between the
 * transaction and the exchange of the files is mended at the next start. Servers that run still hold the old key: the
 * caller makes sure that there are none.
 */
export async function rotateKeyFile(dataDir: string, store: Store): Promise<{ resealed: number }> {
  const { secrets } = await loadDataKey({ dataDir, encryptionKey: undefined }, store);
  const next = join(dataDir, nextKeyFileName);
  await rm(next, { force: true });
  const resealed = await resealAll(store, secrets, buildSecrets(await makeKeyFile(next)));
  await rename(next, join(dataDir, keyFileName));
  return { resealed };
}

/** Seals every stored secret anew, in one transaction: all of them, or none. Answers how many there are. */
export function resealAll(store: Store, from: Secrets, to: Secrets): Promise<number> {
  const again = (purpose: string, ciphertext: string) => to.seal(purpose, from.open(purpose, ciphertext));
  return store.transaction(async (keepers) => {
    let resealed = 0;
    for await (const projectId of allProjectIds(keepers)) {
      resealed += await resealProject(keepers, projectId, again);
      resealed += await resealWebhook(keepers, projectId, again);
    }
    await rememberKey(keepers.meta, to);
    return resealed;
  });
}

type SealAgain = (purpose: string, ciphertext: string) => string;

async function* allProjectIds(keepers: Keepers): AsyncGenerator<number> {
  for (let page = 1; ; page++) {
    const { items } = await keepers.projects.list({}, { page, pageSize: 200 });
    if (items.length === 0) return;
    yield* items.map((project) => project.id);
  }
}

async function resealProject(keepers: Keepers, projectId: number, again: SealAgain): Promise<number> {
  const secrets = await keepers.projects.secrets(projectId);
  for (const { name, ciphertext } of secrets)
    await keepers.projects.setSecret(
      projectId,
      name,
      again(sealedPurpose.projectSecret(projectId, name), ciphertext),
    );
  return secrets.length;
}

async function resealWebhook(keepers: Keepers, projectId: number, again: SealAgain): Promise<number> {
  const config = await keepers.webhookConfigs.ofProject(projectId);
  if (config === null || (config.secret === null && config.secondSecret === null)) return 0;
  const { secret, secondSecret } = config;
  await keepers.webhookConfigs.save({
    ...config,
    secret: secret === null ? null : again(sealedPurpose.webhookSecret(projectId), secret),
    secondSecret:
      secondSecret === null ? null : again(sealedPurpose.webhookSecondSecret(projectId), secondSecret),
  });
  return [secret, secondSecret].filter((value) => value !== null).length;
}
