import { z } from "./shape.ts";

const count = z.number().int();

export const systemShape = z
  .object({
    version: z.string(),
    warnings: z.array(z.string()).openapi({
      description:
        "Warnings of the start text, and of a Kafka log with too few replicas, in English. An address that is not set and runners without isolation are not among them: see `address` and `GET /api/notices`.",
    }),
    address: z.string().openapi({ description: "The public address (`server.baseUrl`); empty: not set." }),
    database: z.string().openapi({ example: "SQLite, data/slipway.db" }),
    disk: z
      .object({ folder: z.string(), freeBytes: z.number(), totalBytes: z.number() })
      .openapi({ description: "Of the file system that holds `data.dir`." }),
    queue: z.object({ queued: count, running: count, waiting: count }),
    runners: z.object({ total: count, connected: count }),
    broker: z
      .object({
        name: z.enum(["RabbitMQ", "Kafka"]),
        ready: z.boolean(),
        detail: z.string().openapi({
          description: "Why it is not ready; empty while it is.",
          example: "connection refused, next try in 2 s",
        }),
      })
      .nullable()
      .openapi({ description: "As the process that answers sees it. Null: no broker is used." }),
    settings: z
      .array(
        z.object({
          key: z.string(),
          value: z.string().openapi({ description: "As it is configured. A secret is masked." }),
          used: z.string().nullable().openapi({
            description:
              "What the process uses instead, because the system allows no more; null: the configured value.",
          }),
          source: z.string().nullable().openapi({
            description:
              "`default`, the path of the file, or the name of the variable or flag; null: not known.",
          }),
        }),
      )
      .openapi({ description: "Every setting." }),
  })
  .openapi("System");

export const systemBackupShape = z
  .object({
    file: z.string().openapi({ example: "/var/lib/slipway/backups/slipway-2026-11-02T09-30-00.000Z.gz" }),
    bytes: count,
    rows: count,
    seconds: z.number().openapi({ description: "How long it took." }),
  })
  .openapi("SystemBackup");

export const packagesShape = z
  .object({
    packages: z.array(
      z.object({
        name: z.string().openapi({ example: "hono" }),
        version: z.string(),
        licence: z.string().openapi({ example: "MIT", description: "SPDX expression; empty: not stated." }),
      }),
    ),
  })
  .openapi("PackagesInside");

export type PackageInside = z.infer<typeof packagesShape>["packages"][number];
export type SystemBackup = z.infer<typeof systemBackupShape>;
export type SystemState = z.infer<typeof systemShape>;
