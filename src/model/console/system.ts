import { z } from "zod";
import type { Reason } from "../../reason/reason.ts";

const count = z.number().int();

/** What an administrator sees of the installation, besides its warnings. */
export const systemState = z.object({
  version: z.string(),
  address: z.string().meta({ description: "The public address (`server.baseUrl`); empty: not set." }),
  database: z.string().meta({ example: "SQLite, data/slipway.db" }),
  disk: z
    .object({ folder: z.string(), freeBytes: z.number(), totalBytes: z.number() })
    .meta({ description: "Of the file system that holds `data.dir`." }),
  queue: z.object({ queued: count, running: count, waiting: count }),
  runners: z.object({ total: count, connected: count }),
  broker: z
    .object({
      name: z.enum(["RabbitMQ", "Kafka"]),
      ready: z.boolean(),
      detail: z.string().meta({
        description: "Why it is not ready; empty while it is.",
        example: "connection refused, next try in 2 s",
      }),
    })
    .nullable()
    .meta({ description: "As the process that answers sees it. Null: no broker is used." }),
  settings: z
    .array(
      z.object({
        key: z.string(),
        value: z.string().meta({ description: "As it is configured. A secret is masked." }),
        used: z.string().nullable().meta({
          description:
            "What the process uses instead, because the system allows no more; null: the configured value.",
        }),
        source: z.string().nullable().meta({
          description:
            "`default`, the path of the file, or the name of the variable or flag; null: not known.",
        }),
      }),
    )
    .meta({ description: "Every setting." }),
});

export const systemBackup = z
  .object({
    file: z.string().meta({ example: "/var/lib/slipway/backups/slipway-2026-11-02T09-30-00.000Z.gz" }),
    bytes: count,
    rows: count,
    seconds: z.number().meta({ description: "How long it took." }),
  })
  .meta({ id: "SystemBackup" });

/** The packages that the program and the console consist of. */
export const packagesInside = z
  .object({
    packages: z.array(
      z.object({
        name: z.string().meta({ example: "hono" }),
        version: z.string(),
        licence: z.string().meta({ example: "MIT", description: "SPDX expression; empty: not stated." }),
      }),
    ),
  })
  .meta({ id: "PackagesInside" });

export type PackageInside = z.infer<typeof packagesInside>["packages"][number];
export type SystemBackup = z.infer<typeof systemBackup>;
export type SystemState = z.infer<typeof systemState> & { warnings: Reason[] };
