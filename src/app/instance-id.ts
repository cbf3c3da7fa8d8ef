import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { queueName } from "../config/setting-kinds.ts";
import { Fault } from "../errors.ts";
import { randomToken } from "../secrets.ts";
import { replaceFile } from "../whole-file.ts";

/**
 * The name of this instance at the broker: the setting, or a name stored in the data folder at the first start. It must be
 * stable, because the queue of this name keeps messages while the instance restarts.
 */
export function stableInstanceId(dataDir: string, setting: string | undefined): string {
  if (setting !== undefined) return setting;
  const file = join(dataDir, "instance-id");
  mkdirSync(dataDir, { recursive: true });
  if (!existsSync(file)) replaceFile(file, `${randomToken(6, "hex")}\n`);
  const text = readFileSync(file, "utf8").trim();
  const reading = queueName.read(text);
  if ("value" in reading) return reading.value;
  throw new Fault("invalid", `${file} ${reading.wrong}; it is "${text}". Delete it to get a new name.`);
}
