import { link, mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault } from "../../errors.ts";
import type { Store } from "../../model/store.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { buildSecrets, decodeKey, keyBytes, randomToken, type Secrets } from "../../secrets.ts";
import { keepKeyCheck, readKeyCheck } from "./key-operations.ts";

export const keyFileName = "slipway.key";
/** Exists beside the key file during a rotation. */
export const nextKeyFileName = "slipway.key.next";
const checkPurpose = "encryption key check";

export interface DataKeyOptions {
  dataDir: string;
  /** `data.encryptionKey`: base64 or hex. */
  encryptionKey: string | undefined;
}

export interface DataKey {
  secrets: Secrets;
  /** File of the key; null if the key is a setting. */
  file: string | null;
  warnings: Reason[];
}

/**
 * Loads the key that encrypts stored secrets: the setting, otherwise the key file, which the first start creates. The
 * database contains a value encrypted with its key, so that a wrong key is reported at start, not at the first
 * delivery.
 */
export async function loadDataKey(
  { dataDir, encryptionKey }: DataKeyOptions,
  store: Pick<Store, "run">,
): Promise<DataKey> {
  if (encryptionKey === undefined) return loadKeyFile(dataDir, store);
  const secrets = buildSecrets(parseKey(encryptionKey, "data.encryptionKey"));
  await confirm(store, secrets, "data.encryptionKey");
  return { secrets, file: null, warnings: [] };
}

async function loadKeyFile(dataDir: string, store: Pick<Store, "run">): Promise<DataKey> {
  const check = await store.run(readKeyCheck, null);
  const file = join(dataDir, keyFileName);
  await finishRotation(dataDir, check);
  const text = await readText(file);
  if (text === null && check !== null) throw missingKeyFile(file);
  const key = text === null ? await makeKeyFile(file) : parseKey(text, file);
  const secrets = buildSecrets(key);
  await confirm(store, secrets, file);
  return { secrets, file, warnings: await permissionWarnings(file) };
}

/** Compares the key with the database's key check value, or stores one: of two simultaneous first starts, one wins. */
async function confirm(store: Pick<Store, "run">, secrets: Secrets, source: string): Promise<void> {
  if (opensCheck(secrets, await store.run(keepKeyCheck, { sealed: keyCheckOf(secrets) }))) return;
  throw new Fault(
    "invalid",
    `The key in ${source} did not encrypt the secrets in this database. Provide the right key, or restore the backup that contains both.`,
  );
}

/** The value that shows which key the database's secrets are encrypted with. */
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

/** Creates a key file that only its owner can read, unless it exists, and returns its key. */
export async function makeKeyFile(file: string): Promise<Uint8Array> {
  const text = randomToken(keyBytes);
  await writeKeyFile(file, text);
  return parseKey((await readText(file)) ?? text, file);
}

/**
 * Written to another file and linked into place: the file is never incomplete, and of two simultaneous starts the first
 * wins.
 */
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

function missingKeyFile(file: string): Fault {
  return new Fault(
    "invalid",
    `This database holds secrets, but their key file ${file} is gone. Put it back, set data.dir to its folder, or set data.encryptionKey.`,
  );
}

/** The text of the key file, for a backup; null if there is none and the database needs none. */
export async function readKeyFile(dataDir: string, { hasKey }: { hasKey: boolean }): Promise<string | null> {
  const file = join(dataDir, keyFileName);
  const text = await readText(file);
  if (text === null && hasKey) throw missingKeyFile(file);
  return text;
}

/** Restores a key file from a backup; an existing key file must be the same. */
export async function restoreKeyFile(dataDir: string, text: string): Promise<void> {
  const file = join(dataDir, keyFileName);
  await writeKeyFile(file, text.trim());
  if ((await readText(file))?.trim() === text.trim()) return;
  throw new Fault("conflict", `There is another key in ${file}: restore into an empty data.dir.`);
}

async function permissionWarnings(file: string): Promise<Reason[]> {
  const { mode } = await stat(file);
  if ((mode & 0o077) === 0) return [];
  return [newReason("system_key_file", { file })];
}

async function readText(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

/** A rotation that was interrupted after its transaction left the new key beside the old one. */
async function finishRotation(dataDir: string, check: string | null): Promise<void> {
  const next = join(dataDir, nextKeyFileName);
  const text = await readText(next);
  if (text === null || check === null) return;
  if (opensCheck(buildSecrets(parseKey(text, next)), check)) await rename(next, join(dataDir, keyFileName));
}
