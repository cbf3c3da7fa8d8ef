import { mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { queueName } from "../config/setting-kinds.ts";
import { Fault } from "../errors.ts";
import { randomToken } from "../secrets.ts";

/**
 * The name of this instance at the broker: the setting, or a name stored in the data folder at the first start. It must be
 * stable, because the queue of this name keeps messages while the instance restarts.
 */
export async function stableInstanceId(dataDir: string, setting: string | undefined): Promise<string> {
  if (setting !== undefined) return setting;
  const file = join(dataDir, "instance-id");
  await mkdir(dataDir, { recursive: true });
  try {
    await using handle = await open(file, "wx");
    const made = randomToken(6, "hex");
    await handle.writeFile(`${made}\n`);
    return made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return nameIn(file, (await readFile(file, "utf8")).trim());
  }
}

function nameIn(file: string, text: string): string {
  const reading = queueName.read(text);
  if ("value" in reading) return reading.value;
  throw new Fault("invalid", `${file} ${reading.wrong}; it is "${text}". Delete it to get a new name.`);
}
