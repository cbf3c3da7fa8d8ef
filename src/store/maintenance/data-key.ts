import { link, mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault } from "../../errors.ts";
import type { Store } from "../../model/store.ts";
import { buildSecrets, decodeKey, keyBytes, randomToken, type Secrets } from "../../secrets.ts";
import { checkName, keepKeyCheck } from "./key-operations.ts";

export const keyFileName = "slipway.key";
/** Stands beside the key file while a rotation is under way. */
export const nextKeyFileName = "slipway.key.next";
const checkPurpose = "encryption key check";

export interface DataKeyOptions {
  dataDir: string;
  /** `data.encryptionKey`: base64 or hex. */
  encryptionKey: string | undefined;
}

export interface DataKey {
  secrets: Secrets;
  /** Where the key stands; null when the setting gave it. */
  file: string | null;
  warnings: string[];
}

/**
 * Loads the key that seals stored secrets: the setting's, else the key file, which the first start makes. The database
 * remembers a value sealed by its key, so that a wrong one is told now and not at the first delivery.
 */
export async function loadDataKey(
  { dataDir, encryptionKey }: DataKeyOptions,
  store: Pick<Store, "run" | "meta">,
): Promise<DataKey> {
  if (encryptionKey === undefined) return loadKeyFile(dataDir, store);
  const secrets = buildSecrets(parseKey(encryptionKey, "data.encryptionKey"));
  await confirm(store, secrets, "data.encryptionKey");
  return { secrets, file: null, warnings: [] };
}

async function loadKeyFile(dataDir: string, store: Pick<Store, "run" | "meta">): Promise<DataKey> {
  const check = await store.meta.get(checkName);
  const file = join(dataDir, keyFileName);
  await finishRotation(dataDir, check);
  const text = await readText(file);
  if (text === null && check !== null)
    throw new Fault(
      "invalid",
      `This database holds secrets, but their key file ${file} is gone. Put it back, or set data.encryptionKey.`,
    );
  const key = text === null ? await makeKeyFile(file) : parseKey(text, file);
  const secrets = buildSecrets(key);
  await confirm(store, secrets, file);
  return { secrets, file, warnings: await permissionWarnings(file) };
}

/** Compares with the value that the database remembers, or lets it remember one: of two first starts one wins. */
async function confirm(store: Pick<Store, "run">, secrets: Secrets, source: string): Promise<void> {
  if (opensCheck(secrets, await store.run(keepKeyCheck, { sealed: keyCheckOf(secrets) }))) return;
  throw new Fault(
    "invalid",
    `The key in ${source} is not the one that the secrets in this database were sealed with. Give the right key, or restore the backup that both belong to.`,
  );
}

/** The value by which the database remembers which key its secrets are sealed with. */
export function keyCheckOf(secrets: Secrets): string {
  return secrets.seal(checkPurpose, "right");
}

function opensCheck(secrets: Secrets, check: string): boolean {
  try {
    return secrets.open(checkPurpose, check) === "right";
  } catch {
    return false;
  }
}

export function parseKey(text: string, source: string): Uint8Array {
  const key = decodeKey(text);
  if (key === null)
    throw new Fault("invalid", `The key in ${source} must be ${keyBytes} bytes in base64 or hex.`);
  return key;
}

/** Makes a key file that only its owner reads, unless there is one, and answers its key. */
export async function makeKeyFile(file: string): Promise<Uint8Array> {
  const text = randomToken(keyBytes);
  await writeKeyFile(file, text);
  return parseKey((await readText(file)) ?? text, file);
}

/** Written beside and linked into place: the file is never half there, and the first of two that start together wins. */
async function writeKeyFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const beside = `${file}.${process.pid}.${randomToken(4, "hex")}`;
  const handle = await open(beside, "wx", 0o600);
  try {
    await handle.writeFile(`${text}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await link(beside, file);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    await rm(beside, { force: true });
  }
}

/** The text of the key file, for a backup; null when there is none. */
export function readKeyFile(dataDir: string): Promise<string | null> {
  return readText(join(dataDir, keyFileName));
}

/** Puts a key from a backup in its place; one that is there already must be the same. */
export async function restoreKeyFile(dataDir: string, text: string): Promise<void> {
  const file = join(dataDir, keyFileName);
  await writeKeyFile(file, text.trim());
  if ((await readText(file))?.trim() === text.trim()) return;
  throw new Fault("conflict", `There is another key in ${file}: restore into an empty data.dir.`);
}

async function permissionWarnings(file: string): Promise<string[]> {
  const { mode } = await stat(file);
  if ((mode & 0o077) === 0) return [];
  return [`the key file ${file} can be read by others; run chmod 600 ${file}`];
}

async function readText(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

/** A rotation that was cut off after its transaction left the right key beside the old one. */
async function finishRotation(dataDir: string, check: string | null): Promise<void> {
  const next = join(dataDir, nextKeyFileName);
  const text = await readText(next);
  if (text === null || check === null) return;
  if (opensCheck(buildSecrets(parseKey(text, next)), check)) await rename(next, join(dataDir, keyFileName));
}
