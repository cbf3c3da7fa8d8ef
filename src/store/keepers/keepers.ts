import type { Keepers } from "../../model/store.ts";
import { sqliteDialect } from "../query/dialect.ts";
import type { CallKind, KeeperCall } from "../query/engine.ts";
import { databaseOver } from "../query/kysely-dialect.ts";
import type { Scope } from "../query/scope.ts";
import { buildApiTokenKeeper } from "./api-token.ts";
import { buildAttemptKeeper } from "./attempt.ts";
import { buildAuditKeeper } from "./audit.ts";
import { buildDeliveryKeeper } from "./delivery.ts";
import { buildGatewayMinuteKeeper } from "./gateway-minute.ts";
import { buildGroupKeeper } from "./group.ts";
import { buildHostHookKeeper } from "./host-hook.ts";
import { buildHostTokenKeeper } from "./host-token.ts";
import { buildMetaKeeper } from "./meta.ts";
import { buildOutgoingAttemptKeeper } from "./outgoing-attempt.ts";
import { buildOutgoingCallKeeper } from "./outgoing-call.ts";
import { buildOverviewKeeper } from "./overview.ts";
import { buildPermissionKeeper } from "./permission.ts";
import { buildPollKeeper } from "./poll.ts";
import { buildProjectKeeper } from "./project.ts";
import { buildPushCodeKeeper } from "./push-code.ts";
import { buildRefTipKeeper } from "./ref-tip.ts";
import { buildReleaseKeeper } from "./release.ts";
import { buildRunnerKeeper } from "./runner.ts";
import { buildSearchKeeper } from "./search.ts";
import { buildSessionKeeper } from "./session.ts";
import { buildTaskKeeper } from "./task.ts";
import { buildTaskRetentionKeeper } from "./task-retention.ts";
import { buildUserKeeper } from "./user.ts";
import { buildWebhookConfigKeeper } from "./webhook-config.ts";

/**
 * How a keeper is built, and those of its methods that do more than a short read. `hold` locks a row until the
 * transaction ends, so only operations use it.
 */
interface Kept<Keeper> {
  build(scope: Scope): Keeper;
  list?: readonly (keyof Keeper)[];
  write?: readonly (keyof Keeper)[];
  change?: readonly (keyof Keeper)[];
}

const table: { [Noun in keyof Keepers]: Kept<Keepers[Noun]> } = {
  users: { build: buildUserKeeper, list: ["list"], write: ["create", "update", "delete"] },
  sessions: {
    build: buildSessionKeeper,
    write: ["create", "touch", "delete", "deleteOfUser", "deleteExpired"],
  },
  apiTokens: {
    build: buildApiTokenKeeper,
    list: ["list"],
    write: ["create", "touch", "delete", "deleteOfUser"],
  },
  attempts: { build: buildAttemptKeeper, write: ["count", "giveBack", "forget", "deleteEnded"] },
  groups: {
    build: buildGroupKeeper,
    list: ["list"],
    write: ["create", "update", "delete"],
  },
  projects: {
    build: buildProjectKeeper,
    list: ["list", "withStatusContext"],
    write: ["create", "update", "setLive", "delete", "setSecret", "setSecretScope", "deleteSecret"],
    change: ["deleteSomeTasks"],
  },
  permissions: { build: buildPermissionKeeper, write: ["setMember", "removeMember"] },
  webhookConfigs: { build: buildWebhookConfigKeeper, list: ["unsigned"], change: ["save"] },
  deliveries: {
    build: buildDeliveryKeeper,
    list: ["list", "latest", "scan", "overtaken", "countByStatus"],
    write: ["create", "replace", "addToCount", "deleteOfProject", "deleteOlderThan"],
    change: ["createWithTask"],
  },
  tasks: {
    build: buildTaskKeeper,
    list: ["list", "lastOfProjects", "positions", "countByState"],
    write: ["create", "change"],
    change: ["claim", "appendLog"],
  },
  taskRetention: { build: buildTaskRetentionKeeper, list: ["after"], write: ["deleteLogs", "delete"] },
  releases: {
    build: buildReleaseKeeper,
    write: ["put", "update", "delete", "setOutput"],
    change: ["keepOnly"],
  },
  runners: { build: buildRunnerKeeper, write: ["create", "update", "markGone", "delete"] },
  audit: { build: buildAuditKeeper, list: ["list"], write: ["add"] },
  pushCodes: { build: buildPushCodeKeeper, write: ["create", "consume", "deleteOfUser", "deleteExpired"] },
  outgoingCalls: {
    build: buildOutgoingCallKeeper,
    write: ["takeDue", "takeFirst", "putOff", "delete"],
    change: ["add"],
  },
  outgoingAttempts: { build: buildOutgoingAttemptKeeper, change: ["add"] },
  refTips: { build: buildRefTipKeeper, list: ["ofProject"], change: ["set", "delete"] },
  polls: {
    build: buildPollKeeper,
    list: ["due"],
    write: ["hold", "extend", "finish", "makeDue", "renew", "forget"],
  },
  hostTokens: { build: buildHostTokenKeeper, list: ["all"], write: ["save", "setCiphertext", "delete"] },
  hostHooks: { build: buildHostHookKeeper, write: ["save", "saveCheck", "delete"] },
  overview: {
    build: buildOverviewKeeper,
    list: ["projects", "runs", "statistics", "held", "serving", "ended"],
  },
  gatewayMinutes: { build: buildGatewayMinuteKeeper, change: ["record"] },
  search: { build: buildSearchKeeper, list: ["projects", "branches", "commits", "tasks", "users", "names"] },
  meta: { build: buildMetaKeeper, write: ["set"] },
};

type Methods = Record<string, (...parameters: readonly unknown[]) => Promise<unknown>>;
const nouns = Object.entries(table) as unknown as [string, Kept<Methods>][];

export function buildKeepers(scope: Scope): Keepers {
  return Object.fromEntries(nouns.map(([noun, { build }]) => [noun, build(scope)])) as never;
}

const kinds = ["list", "write", "change"] as const;
const refuse = () => Promise.reject(new Error("These keepers have no database."));
const withoutDatabase = { db: databaseOver(sqliteDialect, refuse), execute: refuse, dialect: sqliteDialect };
/** The methods of each keeper. */
const callsOf = nouns.map(([noun, kept]) => {
  const kindOf = (method: string): CallKind => kinds.find((kind) => kept[kind]?.includes(method)) ?? "read";
  const methods = Object.keys(kept.build(withoutDatabase));
  return { noun, methods: methods.map((method) => ({ method, kind: kindOf(method) })) };
});

/** Keepers whose calls all go to `execute`. */
export function keepersOver(execute: (call: KeeperCall) => Promise<unknown>): Keepers {
  const keepers = callsOf.map(({ noun, methods }) => {
    const calls = methods.map(({ method, kind }) => [
      method,
      (...parameters: unknown[]) => execute({ kind, noun, method, parameters }),
    ]);
    return [noun, Object.fromEntries(calls)];
  });
  return Object.fromEntries(keepers) as Keepers;
}

/** Executes a call on the keeper that it names. */
export function callKeeper(
  keepers: object,
  { noun, method, parameters }: Omit<KeeperCall, "kind">,
): Promise<unknown> {
  const keeper = (keepers as Record<string, Methods>)[noun];
  const found = keeper?.[method];
  if (keeper === undefined || found === undefined) throw new Error(`There is no ${noun}.${method}.`);
  return found.apply(keeper, parameters as unknown[]);
}
