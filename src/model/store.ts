import type { IdentityKeeper } from "./account/identity.ts";
import type { AuditKeeper, NewAuditEntry } from "./audit.ts";
import type { ActivityKeeper } from "./console/activity.ts";
import type { GatewayMinuteKeeper } from "./console/gateway-minute.ts";
import type { OverviewKeeper } from "./console/overview.ts";
import type { SearchKeeper } from "./console/search.ts";
import type { DeliveryKeeper } from "./delivery.ts";
import type { FailedAttemptKeeper } from "./failed-attempt.ts";
import type { GroupKeeper } from "./group.ts";
import type { HostHookKeeper } from "./host/host-hook.ts";
import type { HostTokenKeeper } from "./host/host-token.ts";
import type { OutgoingAttemptKeeper } from "./outgoing-attempt.ts";
import type { OutgoingCallKeeper } from "./outgoing-call.ts";
import type { PermissionKeeper } from "./permission.ts";
import type { ProjectKeeper } from "./project.ts";
import type { PushCodeKeeper } from "./push-code.ts";
import type { PollKeeper, RefTipKeeper } from "./ref-tip.ts";
import type { ReleaseKeeper } from "./release.ts";
import type { RunnerKeeper } from "./runner.ts";
import type { OutputReadKeeper } from "./service/output-read.ts";
import type { RoutePlaceKeeper } from "./service/route-place.ts";
import type { ServiceKeeper } from "./service/running-service.ts";
import type { TransferKeeper } from "./service/transfer.ts";
import type { TaskKeeper } from "./task.ts";
import type { TaskRetentionKeeper } from "./task-retention.ts";
import type { ApiTokenKeeper, SessionKeeper, UserKeeper } from "./user.ts";
import type { WebhookConfigKeeper } from "./webhook-config.ts";

/** The keepers of all that is stored. */
export interface Keepers {
  users: UserKeeper;
  identities: IdentityKeeper;
  sessions: SessionKeeper;
  apiTokens: ApiTokenKeeper;
  attempts: FailedAttemptKeeper;
  groups: GroupKeeper;
  projects: ProjectKeeper;
  permissions: PermissionKeeper;
  webhookConfigs: WebhookConfigKeeper;
  deliveries: DeliveryKeeper;
  tasks: TaskKeeper;
  taskRetention: TaskRetentionKeeper;
  releases: ReleaseKeeper;
  runners: RunnerKeeper;
  services: ServiceKeeper;
  routePlaces: RoutePlaceKeeper;
  outputReads: OutputReadKeeper;
  transfers: TransferKeeper;
  audit: AuditKeeper;
  pushCodes: PushCodeKeeper;
  outgoingCalls: OutgoingCallKeeper;
  outgoingAttempts: OutgoingAttemptKeeper;
  refTips: RefTipKeeper;
  polls: PollKeeper;
  hostTokens: HostTokenKeeper;
  hostHooks: HostHookKeeper;
  activity: ActivityKeeper;
  overview: OverviewKeeper;
  gatewayMinutes: GatewayMinuteKeeper;
  search: SearchKeeper;
  /** Small named values of the installation: key check, schema notes. */
  meta: MetaKeeper;
}

export interface MetaKeeper {
  get(name: string): Promise<string | null>;
  set(name: string, value: string): Promise<void>;
}

/** The keepers as an operation sees them: inside its own transaction, with the time of the database. */
export interface OperationKeepers extends Keepers {
  /** The database's time when the operation began, after its lock was taken. All instances agree on it. */
  now(): Date;
}

/**
 * Work that the store does in one transaction next to the data: all of it, or none. It may run on another
 * thread, so it is a function of the keepers and its input alone: no network, no log, no other clock. Input and result are
 * plain data; what is to be done afterwards is part of the result.
 */
export interface Operation<Input, Result> {
  readonly name: string;
  run(keepers: OperationKeepers, input: Input): Promise<Result>;
}

export function operation<Input, Result>(
  name: string,
  run: (keepers: OperationKeepers, input: Input) => Promise<Result>,
): Operation<Input, Result> {
  return { name, run };
}

/** An operation of a table of many, whose types only the caller of it knows. */
export type AnyOperation = Operation<never, unknown>;

/** Lets one operation of a name run at a time over all instances; `waitMs` limits the whole wait. */
export interface OperationLock {
  name: string;
  waitMs: number;
}

/**
 * A call of a keeper is one transaction of its own. What belongs together is an operation. Both have answered once what
 * they wrote is on disk; when too many wait they are refused with the fault "unavailable".
 */
export interface Store extends Keepers {
  run<Input, Result>(operation: Operation<Input, Result>, input: Input): Promise<Result>;
  /** "timeout": the lock was not free in time, and the operation did not run. */
  run<Input, Result>(
    operation: Operation<Input, Result>,
    input: Input,
    lock: OperationLock,
  ): Promise<Result | "timeout">;
  /**
   * Keepers whose write stores the entry with it, in one transaction, unless it changed nothing: its result is null or
   * false.
   */
  audited(entry: NewAuditEntry): Keepers;
  /** Whether other instances may use the same database. */
  readonly isShared: boolean;
  /** The database's own time, so that instances with skewed clocks agree. */
  now(): Date;
  /** Null while the database can be read and written; otherwise the problem. Throws when it does not answer. */
  check(): Promise<string | null>;
  describe(): string;
  close(): Promise<void>;
}
