import type { TaskApproval } from "../../model/approval/task-approval.ts";
import type { UserChange } from "../../model/audit.ts";
import type { Manager } from "../../model/permission.ts";
import type { Project } from "../../model/project.ts";
import type { Keepers } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { newReason, type Sentence } from "../../reason/reason.ts";

/** Who may approve a task, among the people who may manage its project. */
export interface Approvers {
  may: Manager[];
  /** With `notByPusher`: the people whose own work it is, and why. */
  excluded: (Manager & { because: Sentence[] })[];
  /** Nobody may: then an administrator may, with a written reason. */
  needsReason: boolean;
}

type ApproverKeepers = Pick<Keepers, "permissions" | "audit" | "releases" | "tasks">;

/** `acting`: a token without the scope admin does not act as an administrator. */
export async function approversOf(
  keepers: ApproverKeepers,
  task: Task & { approval: TaskApproval },
  project: Pick<Project, "id" | "deploy" | "createdAt">,
  acting?: { userId: number | null; isAdmin: boolean },
): Promise<Approvers> {
  const managers = (await keepers.permissions.managersOfProject(project.id)).map((manager) =>
    manager.id === acting?.userId ? { ...manager, isAdmin: acting.isAdmin } : manager,
  );
  if (!task.approval.notByPusher && !project.deploy.notByPusher)
    return { may: managers, excluded: [], needsReason: false };
  const changes = await changedBy(keepers, task, project);
  const judged = managers.map((manager) => ({
    ...manager,
    because: reasonsAgainst(manager, task, changes.get(manager.id) ?? []),
  }));
  const excluded = judged.filter(({ because }) => because.length > 0);
  const may = managers.filter(({ id }) => !excluded.some((other) => other.id === id));
  return { may, excluded, needsReason: may.length === 0 };
}

function reasonsAgainst({ username: user, isAdmin }: Manager, task: Task, changed: string[]): Sentence[] {
  return [
    ...(pushersOf(task).includes(user.toLowerCase()) ? [newReason("excluded_pusher", { user })] : []),
    ...(isPusherUnknown(task) && !isAdmin ? [newReason("excluded_unknown", { user })] : []),
    ...(changed.length > 0 ? [newReason("excluded_change", { user, what: changed.join(", ") })] : []),
  ];
}

/** Everybody whose work the task is: a repeat by another person does not hide the account that pushed. */
function pushersOf({ triggeredBy, author, source }: Task): string[] {
  return [triggeredBy, author, source?.pusher ?? "", ...(source?.sentBy ?? [])].map((name) =>
    name.toLowerCase(),
  );
}

/** A push that a poll found, or whose sender named no account. */
function isPusherUnknown({ source }: Task): boolean {
  return source !== null && source.pusher === "" && source.sentBy === undefined;
}

/** Fields of a project that are pinned. `stages` is the pipeline in entries of version 1.0. */
const pinnedFields = ["name", "git", "pipeline", "stages", "env", "image", "isolation", "limits"];
/** A rollback has the scripts and the environment of its release. */
const releaseFields = ["pipeline", "stages", "env"];
/** What a new project is made with. */
const createdFields = ["name", "git", "pipeline", "env"];
/** Who knows the secret of the webhook can announce a push in another name. */
const webhookFields = ["secret", "secondSecret"];

/** What an entry says that was changed, among what the task deploys; by the action of the entry. */
const changedIn: Record<string, (change: UserChange, isPinned: (field: string) => boolean) => string[]> = {
  "project.create": (_, isPinned) => createdFields.filter(isPinned),
  "project.update": (change, isPinned) =>
    fieldsOf(change)
      .filter((field) => field === "deploy" || isPinned(field))
      .map((field) => (field === "stages" ? "pipeline" : field)),
  "project.set-secret": secretOf,
  "project.set-secret-scope": secretOf,
  "project.delete-secret": secretOf,
  "project.set-credential": () => ["credential"],
  "project.delete-credential": () => ["credential"],
  "webhook.save": (change) =>
    fieldsOf(change)
      .filter((field) => webhookFields.includes(field))
      .map((field) => `webhook.${field}`),
};

function secretOf({ detail }: UserChange): string[] {
  return [`secrets.${String(detail.name)}`];
}

function fieldsOf({ detail: { fields } }: UserChange): string[] {
  return Array.isArray(fields) ? fields.map(String) : [];
}

/**
 * By user: the settings that they changed since the approved release that serves. A change after the request counts if it
 * applies nevertheless: secrets and the rule are not pinned.
 */
async function changedBy(
  keepers: ApproverKeepers,
  { approval, rollbackTo }: Task & { approval: TaskApproval },
  project: Pick<Project, "id" | "createdAt">,
): Promise<Map<number, string[]>> {
  const since = await lastApproved(keepers, project);
  const changed = new Map<number, Set<string>>();
  for (const change of await keepers.audit.changesOf(project.id, Object.keys(changedIn), since)) {
    const isPinned = (field: string) =>
      pinnedFields.includes(field) &&
      change.id <= (approval.auditId ?? change.id) &&
      !(rollbackTo !== null && releaseFields.includes(field));
    const names = changedIn[change.action]?.(change, isPinned) ?? [];
    if (names.length > 0)
      changed.set(change.userId, new Set([...(changed.get(change.userId) ?? []), ...names]));
  }
  return new Map([...changed].map(([userId, names]) => [userId, [...names].sort()]));
}

/** How many releases are searched for one that was approved. */
const maxReleases = 50;

/**
 * When the settings of the serving release were read, if it was approved; else those of the last release that was. If
 * none was approved, those of the serving one; if nothing has served, the project's beginning. A deploy that needed no
 * approval approves nothing: otherwise it would hide changes from the next deploy that needs one.
 */
async function lastApproved(
  { releases, tasks }: Pick<Keepers, "releases" | "tasks">,
  { id, createdAt }: Pick<Project, "id" | "createdAt">,
): Promise<{ afterId: number } | { from: Date }> {
  const serving = await releases.servedLast(id);
  if (serving === null) return { from: createdAt };
  for (const { taskId } of [serving, ...(await releases.ofProject(id, maxReleases))]) {
    const built = await tasks.byId(taskId);
    if (built?.approval?.state !== "approved") continue;
    const { auditId } = built.approval;
    return auditId === undefined ? { from: built.createdAt } : { afterId: auditId };
  }
  return { from: (await tasks.byId(serving.taskId))?.createdAt ?? serving.deployedAt };
}
