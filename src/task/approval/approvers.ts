import type { TaskApproval } from "../../model/approval/task-approval.ts";
import type { UserChange } from "../../model/audit.ts";
import { repositoryPlaceOf } from "../../model/git/repository-place.ts";
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

type ApproverKeepers = Pick<Keepers, "permissions" | "audit" | "releases" | "tasks" | "identities">;

/** `acting`: a token without the scope admin does not act as an administrator. */
export async function approversOf(
  keepers: ApproverKeepers,
  task: Task & { approval: TaskApproval },
  project: Pick<Project, "id" | "parentId" | "groupId" | "deploy" | "createdAt" | "git">,
  acting?: { userId: number | null; isAdmin: boolean },
): Promise<Approvers> {
  const managers = (await keepers.permissions.managersOfProject(project.id)).map((manager) =>
    manager.id === acting?.userId ? { ...manager, isAdmin: acting.isAdmin } : manager,
  );
  if (!task.approval.notByPusher && !project.deploy.notByPusher)
    return { may: managers, excluded: [], needsReason: false };
  const changes = await changedBy(keepers, task, project);
  const loginsOf = await accountsAt(keepers, project);
  const works = await withPromoted(keepers, task);
  const judged = managers.map((manager) => ({
    ...manager,
    because: reasonsAgainst(manager, works, changes.get(manager.id) ?? [], loginsOf(manager)),
  }));
  const excluded = judged.filter(({ because }) => because.length > 0);
  const may = managers.filter(({ id }) => !excluded.some((other) => other.id === id));
  return { may, excluded, needsReason: may.length === 0 };
}

/** The task and those whose release it promotes: who promotes does not hide who started the build. */
async function withPromoted({ tasks }: Pick<Keepers, "tasks">, task: Task): Promise<Task[]> {
  const works = [task];
  for (let next = task.deploys; next !== null; next = works.at(-1)?.deploys ?? null) {
    const promoted = await tasks.byId(next.taskId);
    if (promoted === null) break;
    works.push(promoted);
  }
  return works;
}

/**
 * The names of a manager at the Git host of the project: of accounts that are or were linked, and the username, unless the manager
 * is linked there and the account of that name is another user's.
 */
async function accountsAt(
  { identities }: Pick<Keepers, "identities">,
  { git }: Pick<Project, "git">,
): Promise<(manager: Manager) => string[]> {
  const place = repositoryPlaceOf(git.url);
  const host = place === null ? "" : new URL(place.origin).hostname;
  const [linked, former] = [await identities.atHost(host), await identities.formerAtHost(host)];
  return ({ id, username }) => {
    const own = linked.filter(({ userId }) => userId === id);
    const earlier = former.filter(({ userId }) => userId === id);
    const isOthers =
      own.length > 0 && linked.some(({ userId, login }) => userId !== id && isSameName(login, username));
    return [...[...own, ...earlier].map(({ login }) => login), ...(isOthers ? [] : [username])];
  };
}

function reasonsAgainst(
  { username: user, isAdmin }: Manager,
  works: Task[],
  changed: string[],
  logins: string[],
): Sentence[] {
  const isStarter = works.some(
    ({ triggerType, triggeredBy }) => triggerType === "manual" && isSameName(triggeredBy, user),
  );
  const isPusher = works.flatMap(pushersOf).some((name) => logins.some((login) => isSameName(name, login)));
  return [
    ...(isStarter || isPusher ? [newReason("excluded_pusher", { user })] : []),
    ...(works.some(isPusherUnknown) && !isAdmin ? [newReason("excluded_unknown", { user })] : []),
    ...(changed.length > 0 ? [newReason("excluded_change", { user, what: changed.join(", ") })] : []),
  ];
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** The accounts at the Git host whose work the task is: a repeat by another person does not hide the one that pushed. */
function pushersOf({ triggerType, triggeredBy, author, source }: Task): string[] {
  const sender = triggerType === "webhook" ? [triggeredBy] : [];
  return [...sender, author, source?.pusher ?? "", ...(source?.sentBy ?? [])];
}

/** A push that a poll found, or whose sender named no account. */
function isPusherUnknown({ source }: Task): boolean {
  return source !== null && source.pusher === "" && source.sentBy === undefined;
}

/** Fields of a project that are pinned. `stages` is the pipeline in entries of version 1.0. */
const pinnedFields = [
  "name",
  "git",
  "pipeline",
  "pipelineFile",
  "stages",
  "env",
  "image",
  "isolation",
  "limits",
];
/** Another group has other secrets, whose values are not pinned, as the rule is not; nor are domains and limits of an environment. */
const unpinnedFields = ["deploy", "groupId", "environments"];
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
      .filter((field) => unpinnedFields.includes(field) || isPinned(field))
      .map((field) => (field === "stages" ? "pipeline" : field)),
  "project.set-secret": secretOf,
  "project.set-secret-scope": secretOf,
  "project.delete-secret": secretOf,
  "group.update": (change, isPinned) =>
    fieldsOf(change)
      .filter((field) => field === "env" && isPinned(field))
      .map(() => "group.env"),
  "group.set-secret": secretOfGroup,
  "group.set-secret-scope": secretOfGroup,
  "group.delete-secret": secretOfGroup,
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

function secretOfGroup(change: UserChange): string[] {
  return secretOf(change).map((name) => `group.${name}`);
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
  project: Pick<Project, "id" | "parentId" | "groupId" | "createdAt">,
): Promise<Map<number, string[]>> {
  const since = await lastApproved(keepers, project);
  // An environment has what its project has.
  const projectIds = project.parentId === null ? [project.id] : [project.id, project.parentId];
  const of = { projectIds, groupId: project.groupId };
  const changed = new Map<number, Set<string>>();
  for (const change of await keepers.audit.changesOf(of, Object.keys(changedIn), since)) {
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
