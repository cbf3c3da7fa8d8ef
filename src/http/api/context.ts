import type { Context } from "hono";
import type { ConsoleAccess } from "../../account/console-access.ts";
import type { Permissions } from "../../account/permissions.ts";
import type { Clock } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import type { AuditEntry, NewAuditEntry } from "../../model/audit.ts";
import type { Group } from "../../model/group.ts";
import type { Caller } from "../../model/permission.ts";
import type { Project } from "../../model/project.ts";
import type { Keepers, Store } from "../../model/store.ts";
import { newReason } from "../../reason/reason.ts";
import type { Identity } from "../auth.ts";

/** What every handler finds in its context. `project` and `group` are there when the route's access asks for one. */
export interface ApiEnv {
  Bindings: {
    peerAddress: string;
    /** Lifts the limit of time without a byte for this request. */
    waitLong(): void;
  };
  Variables: {
    requestId: string;
    clientAddress: string;
    /** Whether a cookie is set as `Secure`. */
    isSecureCookie: boolean;
    identity: Identity;
    /** Reads the credential of the request again. */
    identify: () => Promise<Identity>;
    permissions: Permissions;
    store: Pick<Store, "audit" | "audited">;
    clock: Clock;
    consoleAccess: ConsoleAccess;
    project?: Project;
    group?: Group;
  };
}

export type ApiContext = Context<ApiEnv>;

/** The signed-in caller; routes with access "anonymous" have none. */
export function callerOf(c: ApiContext): Caller {
  const { caller, fault } = c.var.identity;
  if (!caller) throw fault ?? new Fault("unauthenticated", newReason("sign_in"));
  return caller;
}

/** The project of the path, already authorised by the route's access. */
export function projectOf(c: ApiContext): Project {
  return given(c.var.project, "project");
}

export function groupOf(c: ApiContext): Group {
  return given(c.var.group, "group");
}

function given<T>(value: T | undefined, noun: string): T {
  if (value === undefined) throw new Error(`The route's access names no ${noun}.`);
  return value;
}

type Audited = Pick<AuditEntry, "action" | "subject"> &
  Partial<Pick<AuditEntry, "projectId" | "groupId" | "detail">>;

/** Who changed what, for an operation that stores the entry with the change. Secrets never stand in `detail`. */
export function auditEntry(c: ApiContext, entry: Audited): NewAuditEntry {
  const { caller } = c.var.identity;
  return {
    at: new Date(c.var.clock.now()),
    userId: caller?.userId ?? null,
    username: caller?.username ?? "",
    action: entry.action,
    projectId: entry.projectId ?? null,
    groupId: entry.groupId ?? null,
    subject: entry.subject,
    detail: entry.detail ?? {},
    remoteIp: c.var.clientAddress,
  };
}

/** Keepers for a change that is stored together with the entry about it. */
export function audited(c: ApiContext, entry: Audited): Keepers {
  return c.var.store.audited(auditEntry(c, entry));
}

/** Writes down who did something that is not a change of one keeper or operation. */
export function audit(c: ApiContext, entry: Audited): Promise<void> {
  return c.var.store.audit.add(auditEntry(c, entry));
}

/** Writes down a change of a project, or of what belongs to it. */
export function auditProject(
  c: ApiContext,
  action: string,
  project: Pick<Project, "id" | "name">,
  detail: AuditEntry["detail"] = {},
): Promise<void> {
  return audit(c, projectChange(action, project, detail));
}

export function projectChange(
  action: string,
  { id, name }: Pick<Project, "id" | "name">,
  detail: AuditEntry["detail"] = {},
): Audited {
  return { action, subject: `project ${name}`, projectId: id, detail };
}

/** A change of what a group gives to its projects. */
export function groupChange(
  action: string,
  { id, name }: Pick<Group, "id" | "name">,
  detail: AuditEntry["detail"] = {},
): Audited {
  return { action, subject: `group ${name}`, groupId: id, detail };
}
