import { randomBytes } from "node:crypto";
import { mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../errors.ts";

/** What may stand in the name of a queue without quoting. */
const valid = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * The stable name of this instance at the broker: the setting, or one kept in the data folder since the first start.
 * Stable, because the queue of this name keeps what is published while the instance restarts.
 */
export async function stableInstanceId(dataDir: string, setting: string | undefined): Promise<string> {
  if (setting !== undefined) return checked(setting, "push.queue.instance-id");
  const file = join(dataDir, "instance-id");
  await mkdir(dataDir, { recursive: true });
  try {
    await using handle = await open(file, "wx");
    const made = randomBytes(6).toString("hex");
    await handle.writeFile(`${made}\n`);
    return made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return checked((await readFile(file, "utf8")).trim(), file);
  }
}

function checked(id: string, source: string): string {
  if (valid.test(id)) return id;
  throw new Fault(
    "invalid",
    `${source} must be 1 to 64 letters, digits, dots, underscores or hyphens; it is "${id}".`,
  );
}
