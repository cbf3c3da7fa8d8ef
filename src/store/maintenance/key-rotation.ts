import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Page, PageRequest } from "../../model/page.ts";
import { defaultTargetName, sealedPurpose } from "../../model/sealed.ts";
import type { Store } from "../../model/store.ts";
import { buildSecrets, type Secrets } from "../../secrets.ts";
import { keyCheckOf, keyFileName, loadDataKey, makeKeyFile, nextKeyFileName } from "./data-key.ts";
import { type Resealed, replaceSealed } from "./key-operations.ts";

/**
 * Gives the installation a new key file. The new key is on disk before anything is encrypted with it; after a crash
 * between the transaction and the exchange of the files, the next start finishes the exchange. Running servers would
 * still have the old key: the caller makes sure that there are none.
 */
export async function rotateKeyFile(dataDir: string, store: Store): Promise<{ resealed: number }> {
  const { secrets } = await loadDataKey({ dataDir, encryptionKey: undefined }, store);
  const next = join(dataDir, nextKeyFileName);
  await rm(next, { force: true });
  const resealed = await resealAll(store, secrets, buildSecrets(await makeKeyFile(next)));
  await rename(next, join(dataDir, keyFileName));
  return { resealed };
}

/** Encrypts every stored secret again, in one transaction. Returns their number. */
export async function resealAll(store: Store, from: Secrets, to: Secrets): Promise<number> {
  const again = (purpose: string, ciphertext: string) => to.seal(purpose, from.open(purpose, ciphertext));
  const resealed: Resealed = {
    projectSecrets: [],
    groupSecrets: [],
    webhookConfigs: [],
    hostTokens: [],
    sessions: [],
    meta: {},
    check: keyCheckOf(to),
  };
  let count = 0;
  for await (const projectId of allIds((page) => store.projects.list({ withEnvironments: true }, page))) {
    for (const { name, ciphertext } of await store.projects.secrets(projectId)) {
      const purpose = sealedPurpose.projectSecret(projectId, name);
      resealed.projectSecrets.push({ projectId, name, ciphertext: again(purpose, ciphertext) });
      count++;
    }
    const config = await store.webhookConfigs.ofProject(projectId);
    if (config === null) continue;
    const { secret, secondSecret } = config;
    const sealed = [secret, secondSecret].filter((value) => value !== null).length;
    if (sealed === 0) continue;
    resealed.webhookConfigs.push({
      ...config,
      secret: secret && again(sealedPurpose.webhookSecret(projectId), secret),
      secondSecret: secondSecret && again(sealedPurpose.webhookSecondSecret(projectId), secondSecret),
    });
    count += sealed;
  }
  for await (const groupId of allIds((page) => store.groups.list({}, page)))
    for (const { name, ciphertext } of await store.groups.secrets(groupId)) {
      const purpose = sealedPurpose.groupSecret(groupId, name);
      resealed.groupSecrets.push({ groupId, name, ciphertext: again(purpose, ciphertext) });
      count++;
    }
  for (const { id, userId, origin, ciphertext } of await store.hostTokens.all()) {
    resealed.hostTokens.push({ id, ciphertext: again(sealedPurpose.hostToken(userId, origin), ciphertext) });
    count++;
  }
  for (const { id, tokenHash, providerGrant } of await store.sessions.withGrant()) {
    const purpose = sealedPurpose.providerGrant(tokenHash);
    resealed.sessions.push({ id, providerGrant: again(purpose, providerGrant ?? "") });
    count++;
  }
  const target = await store.meta.get(defaultTargetName);
  const sealed = target === null ? null : (JSON.parse(target) as { ciphertext: string } | null);
  if (sealed !== null) {
    const ciphertext = again(sealedPurpose.defaultNotify(), sealed.ciphertext);
    resealed.meta[defaultTargetName] = JSON.stringify({ ...sealed, ciphertext });
    count++;
  }
  await store.run(replaceSealed, resealed);
  return count;
}

async function* allIds(list: (page: PageRequest) => Promise<Page<{ id: number }>>): AsyncGenerator<number> {
  for (let page = 1; ; page++) {
    const { items } = await list({ page, pageSize: 200 });
    if (items.length === 0) return;
    yield* items.map(({ id }) => id);
  }
}
