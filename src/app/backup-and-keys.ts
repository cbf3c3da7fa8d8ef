import { buildPasswords } from "../account/password.ts";
import { rescueUser } from "../account/rescue.ts";
import { systemClock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { Fault } from "../errors.ts";
import { buildLogger, type Logger } from "../logger.ts";
import { endStages } from "../model/stage/task-stages.ts";
import type { Task, TaskStage } from "../model/task.ts";
import { buildSecrets } from "../secrets.ts";
import { openOwnStore, openStore } from "../store/database.ts";
import { backUp, type Restored, restore } from "../store/maintenance/backup.ts";
import { loadDataKey, parseKey, readKeyFile, restoreKeyFile } from "../store/maintenance/data-key.ts";
import { inspectDatabase } from "../store/maintenance/existing-database.ts";
import { resealAll, rotateKeyFile } from "../store/maintenance/key-rotation.ts";
import { databaseUrlOf, storeThread } from "./deploy-store.ts";

/** Writes database and key file into one file, also while the server runs. */
export async function backUpData(config: Config, path: string): Promise<{ rows: number }> {
  const databaseUrl = databaseUrlOf(config);
  const usesKeyFile = config["data.encryptionKey"] === undefined;
  const inspected = await inspectDatabase(databaseUrl);
  return backUp({
    databaseUrl,
    path,
    key: usesKeyFile ? await readKeyFile(config["data.dir"], inspected) : null,
    now: new Date(),
  });
}

export interface RestoreChoices {
  /** Keeps tasks that were queued or running in the original installation, so that they run here. */
  keepQueue: boolean;
}

/** Restores a backup into an empty database, and its key file into data.dir. */
export async function restoreData(
  config: Config,
  path: string,
  { keepQueue }: RestoreChoices,
): Promise<Restored> {
  const databaseUrl = databaseUrlOf(config);
  // Opening the store creates the schema.
  const store = await openStore({ url: databaseUrl, log: quietLog(), threadProgram: storeThread });
  await store.close();
  return restore({
    databaseUrl,
    path,
    async onKey(key) {
      if (key !== null && config["data.encryptionKey"] === undefined)
        await restoreKeyFile(config["data.dir"], key);
    },
    endTask: keepQueue ? null : ({ stages }) => canceledByRestore(stages, new Date()),
  });
}

function canceledByRestore(stages: TaskStage[], now: Date): Partial<Task> {
  return {
    state: "canceled",
    reason: "restored from backup",
    finishedAt: now,
    stages: endStages(stages, "canceled", now),
  };
}

/** Encrypts all secrets again: with a new key file, or with `nextKey` if the key is a setting, which must be changed then. */
export async function rotateDataKey(
  config: Config,
  nextKey: string | undefined,
): Promise<{ resealed: number }> {
  const currentKey = config["data.encryptionKey"];
  if (currentKey === undefined && nextKey !== undefined)
    throw new Fault(
      "invalid",
      "The key is a file, for which a new key is made: leave --next-key out. It is for a key that is the setting data.encryptionKey.",
    );
  const url = databaseUrlOf(config);
  await inspectDatabase(url);
  const store = await openOwnStore("alone", { url, log: quietLog(), threadProgram: storeThread });
  try {
    if (currentKey === undefined) return await rotateKeyFile(config["data.dir"], store);
    if (nextKey === undefined)
      throw new Fault(
        "invalid",
        "The key is the setting data.encryptionKey: give the new one with --next-key.",
      );
    const to = buildSecrets(parseKey(nextKey, "--next-key"));
    const from = await loadDataKey({ dataDir: config["data.dir"], encryptionKey: currentKey }, store);
    return { resealed: await resealAll(store, from.secrets, to) };
  } finally {
    await store.close();
  }
}

/** Sets a new password directly in the database. */
export async function resetPassword(
  config: Config,
  username: string,
  password: string,
  keepTokens: boolean,
): ReturnType<typeof rescueUser> {
  const url = databaseUrlOf(config);
  await inspectDatabase(url);
  const store = await openStore({ url, log: quietLog(), threadProgram: storeThread });
  try {
    return await rescueUser(store, buildPasswords(), systemClock, username, password, keepTokens);
  } finally {
    await store.close();
  }
}

function quietLog(): Logger {
  return buildLogger("warn", "auto", process.stderr);
}
