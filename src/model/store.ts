import type { AttemptKeeper } from "./attempt.ts";
import type { AuditKeeper } from "./audit.ts";
import type { DeliveryKeeper } from "./delivery.ts";
import type { ExpiredTaskKeeper } from "./expired-task.ts";
import type { GroupKeeper } from "./group.ts";
import type { OutgoingAttemptKeeper } from "./outgoing-attempt.ts";
import type { OutgoingCallKeeper } from "./outgoing-call.ts";
import type { PermissionKeeper } from "./permission.ts";
import type { ProjectKeeper } from "./project.ts";
import type { PushCodeKeeper } from "./push-code.ts";
import type { RunnerKeeper } from "./runner.ts";
import type { TaskKeeper } from "./task.ts";
import type { ApiTokenKeeper, SessionKeeper, UserKeeper } from "./user.ts";
import type { WebhookConfigKeeper } from "./webhook-config.ts";

/** The keepers of all that is stored. */
export interface Keepers {
  users: UserKeeper;
  sessions: SessionKeeper;
  apiTokens: ApiTokenKeeper;
  attempts: AttemptKeeper;
  groups: GroupKeeper;
  projects: ProjectKeeper;
  permissions: PermissionKeeper;
  webhookConfigs: WebhookConfigKeeper;
  deliveries: DeliveryKeeper;
  tasks: TaskKeeper;
  expiredTasks: ExpiredTaskKeeper;
  runners: RunnerKeeper;
  audit: AuditKeeper;
  pushCodes: PushCodeKeeper;
  outgoingCalls: OutgoingCallKeeper;
  outgoingAttempts: OutgoingAttemptKeeper;
  /** Small named values of the installation: key check, schema notes. */
  meta: MetaKeeper;
}

export interface MetaKeeper {
  get(name: string): Promise<string | null>;
  set(name: string, value: string): Promise<void>;
}

/** Keepers that can also be changed together. */
export interface Unit extends Keepers {
  /** Runs `work` in one durable transaction: all of it, or none. It has returned once the commit is on disk. */
  transaction<T>(work: (keepers: Keepers) => Promise<T>): Promise<T>;
}

export interface Store extends Unit {
  /**
   * Runs `work` alone for its name over all instances. Waits at most `waitMs`; answers "timeout" without running it
   * after that. `work` uses the keepers that it is given and no others: on PostgreSQL they write in the transaction
   * that holds the lock, so that work whose lock is lost is undone. A failure of `work` undoes it there too.
   */
  withLock<T>(name: string, waitMs: number, work: (locked: Unit) => Promise<T>): Promise<T | "timeout">;
  /**
   * Grows with every committed change of a project, its secrets or its webhook: what was read at a version still holds at the same one.
   * Null where other instances write too.
   */
  version(): number | null;
  /** The database's own time, so that instances with skewed clocks agree. */
  now(): Promise<Date>;
  /** Null while the database can be read and written; otherwise the problem. Throws when it does not answer. */
  check(): Promise<string | null>;
  describe(): string;
  close(): Promise<void>;
}
