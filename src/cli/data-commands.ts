import { resolve } from "node:path";
import type { Command } from "commander";
import { namingFullDisk } from "../app/system/full-disk.ts";
import { print } from "./output.ts";
import { backedUpText } from "./service-data-commands.ts";
import { addSettings, configFrom } from "./settings-options.ts";

const noServiceData =
  "Data folders of services are not in it: `slipway service backup PROJECT --file FILE` on the machine of the runner, or --service-data for all of the local runner.";

type Options = Record<string, unknown>;

/** `backup`, `restore` and `key rotate`: they work on the database itself, not through a server. */
export function addDataCommands(program: Command): void {
  addSettings(program.command("backup"))
    .description("write database and key file into one file, while the server runs")
    .argument("<file>", "the backup; it holds the key, so keep it as you keep the key")
    .option(
      "--service-data",
      "also write the data folders of services of the local runner, into files of the folder <file>.service-data",
    )
    .option("--json", "print JSON")
    .action(async (file: string, options: Options) => {
      const [config, { backUpData }, { backUpServiceData }] = await Promise.all([
        configFrom(options),
        import("../app/backup-and-keys.ts"),
        import("../app/service-data.ts"),
      ]);
      const path = resolve(file);
      const { rows } = await backUpData(config, path);
      const serviceData =
        options.serviceData === true ? await backUpServiceData(config, `${path}.service-data`) : [];
      print(options, { file: path, rows, serviceData }, () =>
        [
          `Backed up ${rows} rows into ${file}.`,
          ...(options.serviceData === true ? serviceData.map(backedUpText) : [noServiceData]),
        ].join("\n"),
      );
    });
  addSettings(program.command("restore"))
    .description("restore a backup into an empty database, SQLite or PostgreSQL")
    .argument("<file>", "a file that `slipway backup` wrote")
    .option(
      "--keep-queue",
      "keep tasks that were queued or running, so that they run here; without it they are canceled",
    )
    .option("--json", "print JSON")
    .action(async (file: string, options: Options) => {
      const [config, { restoreData }] = await Promise.all([
        configFrom(options),
        import("../app/backup-and-keys.ts"),
      ]);
      const keepQueue = options.keepQueue === true;
      const restored = await namingFullDisk(config, restoreData(config, resolve(file), { keepQueue }));
      print(options, restored, () => restoredText(restored));
    });
  const key = program.command("key").description("the key that seals stored secrets");
  addSettings(key.command("rotate"))
    .description("seal every stored secret with a new key; refused while a server runs on the database")
    .option("--next-key <key>", "the new key, when the old one is the setting data.encryptionKey")
    .option("--json", "print JSON")
    .action(async (options: Options) => {
      const [config, { rotateDataKey }] = await Promise.all([
        configFrom(options),
        import("../app/backup-and-keys.ts"),
      ]);
      const nextKey = typeof options.nextKey === "string" ? options.nextKey : undefined;
      const { resealed } = await namingFullDisk(config, rotateDataKey(config, nextKey));
      print(options, { resealed }, () => `Sealed ${resealed} secrets with the new key.`);
    });
}

function restoredText({ rows, canceledTasks }: { rows: number; canceledTasks: number }): string {
  if (canceledTasks === 0) return `Restored ${rows} rows.`;
  const canceled =
    canceledTasks === 1
      ? "One task that was queued or running is"
      : `${canceledTasks} tasks that were queued or running are`;
  return `Restored ${rows} rows. ${canceled} canceled; restore with --keep-queue to run them.`;
}
