import {
  DEFAULT_MIGRATION_LOCK_TABLE,
  DEFAULT_MIGRATION_TABLE,
  type Kysely,
  type Migration,
  Migrator,
} from "kysely";
import { Fault, messageOf } from "../../errors.ts";
import type { Dialect } from "../query/dialect.ts";
import { initial } from "./0001-initial.ts";
import { outgoingCalls } from "./0002-outgoing-calls.ts";
import { leanIndexes } from "./0003-lean-indexes.ts";
import { windowIndex } from "./0004-window-index.ts";
import { codeEnd } from "./0005-code-end.ts";
import { attempts } from "./0006-attempts.ts";
import { queueIndex } from "./0007-queue-index.ts";
import { replacedDeliveries } from "./0008-replaced-deliveries.ts";
import { runnerRights } from "./0009-runner-rights.ts";
import { notifications } from "./0010-notifications.ts";
import { execution } from "./0011-execution.ts";
import { bodyCompression } from "./0012-body-compression.ts";
import { releases } from "./0013-releases.ts";
import { deployRules } from "./0014-deploy-rules.ts";
import { refTips } from "./0015-ref-tips.ts";
import { approvals } from "./0016-approvals.ts";
import { userLanguage } from "./0017-user-language.ts";
import { taskFilters } from "./0018-task-filters.ts";
import { hostHooks } from "./0019-host-hooks.ts";
import { hostTokenOwner } from "./0020-host-token-owner.ts";
import { gatewayMinutes } from "./0021-gateway-minutes.ts";
import { shortAuthors } from "./0022-short-authors.ts";
import { secretScopes } from "./0024-secret-scopes.ts";
import { endedReleases } from "./0025-ended-releases.ts";
import { forgottenTips } from "./0026-forgotten-tips.ts";
import { skipKeywords } from "./0027-skip-keywords.ts";

const migrations = {
  "0001-initial": initial,
  "0002-outgoing-calls": outgoingCalls,
  "0003-lean-indexes": () => leanIndexes,
  "0004-window-index": () => windowIndex,
  "0005-code-end": () => codeEnd,
  "0006-attempts": () => attempts,
  "0007-queue-index": () => queueIndex,
  "0008-replaced-deliveries": () => replacedDeliveries,
  "0009-runner-rights": () => runnerRights,
  "0010-notifications": notifications,
  "0011-execution": () => execution,
  "0012-body-compression": bodyCompression,
  "0013-releases": () => releases,
  "0014-deploy-rules": () => deployRules,
  "0015-ref-tips": () => refTips,
  "0016-approvals": () => approvals,
  "0017-user-language": () => userLanguage,
  "0018-task-filters": () => taskFilters,
  "0019-host-hooks": hostHooks,
  "0020-host-token-owner": () => hostTokenOwner,
  "0021-gateway-minutes": () => gatewayMinutes,
  "0022-short-authors": () => shortAuthors,
  "0024-secret-scopes": () => secretScopes,
  "0025-ended-releases": () => endedReleases,
  "0026-forgotten-tips": () => forgottenTips,
  "0027-skip-keywords": () => skipKeywords,
} as const satisfies Record<string, (dialect: Dialect) => Migration>;

/** The schemas of all versions, oldest first. */
export const schemas = Object.keys(migrations);

/** The schema that this version works with. */
export const lastMigration = schemas.at(-1) ?? "";

/** The table in which Kysely records migrations. */
export const migrationTables = [DEFAULT_MIGRATION_TABLE, DEFAULT_MIGRATION_LOCK_TABLE];

/**
 * Migrates the schema. The caller holds the database's lock, so that of two instances that start together, the second
 * finds the work done. Migrations are listed here, not searched in a folder, because the program is also compiled into
 * one file. `schema` is this version's unless a restore or a test names an earlier one.
 */
export async function migrate<S>(db: Kysely<S>, dialect: Dialect, schema = lastMigration): Promise<void> {
  const made = Object.entries(migrations).map(([name, make]) => [name, make(dialect)] as const);
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => Object.fromEntries(made) },
  });
  const { error, results } = await migrator.migrateTo(schema);
  if (error === undefined) return;
  // Not a fault of the migration: the database is away or damaged.
  if (error instanceof Fault) throw error;
  const failed = results?.find((result) => result.status === "Error")?.migrationName ?? "the schema";
  throw new Fault(
    "internal",
    `The database could not be brought up to date (${failed}): ${messageOf(error)}`,
    {
      cause: error,
    },
  );
}
