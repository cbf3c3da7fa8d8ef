import { mkdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Clock } from "../../clock.ts";
import type { Config } from "../../config/config.ts";
import { Fault, messageOf } from "../../errors.ts";
import type { SystemBackup } from "../../model/console/system.ts";
import { newReason } from "../../reason/reason.ts";

/** Writes a backup into `<data.dir>/backups`, as `slipway backup` does. Calls during a backup get its result. */
export function buildBackupNow(config: Config, clock: Clock): () => Promise<SystemBackup> {
  let running: Promise<SystemBackup> | null = null;
  return () => {
    running ??= writeBackup(config, clock).finally(() => {
      running = null;
    });
    return running;
  };
}

async function writeBackup(config: Config, clock: Clock): Promise<SystemBackup> {
  const startedMs = clock.elapsed();
  const folder = resolve(config["data.dir"], "backups");
  const file = join(folder, `slipway-${new Date(clock.now()).toISOString().replaceAll(":", "-")}.gz`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { backUpData } = await import("../backup-and-keys.ts");
    const { rows } = await backUpData(config, file);
    const { size } = await stat(file);
    return { file, bytes: size, rows, seconds: (clock.elapsed() - startedMs) / 1000 };
  } catch (cause) {
    throw new Fault("invalid", newReason("backup_failed", { fault: messageOf(cause) }), { cause });
  }
}
