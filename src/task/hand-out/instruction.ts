import { messageOf, ReasonError } from "../../errors.ts";
import { type GitUrlRules, gitAccessOf, gitUrlFault } from "../../model/git/git-url.ts";
import { type Pipeline, type Step, servicesOf, stepsToRun } from "../../model/pipeline.ts";
import type { GitCredential, Project, SecretScope } from "../../model/project.ts";
import { isReservedSecret, reservedSecrets, sealedPurpose } from "../../model/sealed.ts";
import { limitBytesOf } from "../../model/service/disk-use.ts";
import { isSideEffect, type StageName } from "../../model/stage/stage-name.ts";
import type { Keepers } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";
import { type RunTask, timingOf } from "../../runner/protocol.ts";
import type { Secrets } from "../../secrets.ts";
import { stepOf } from "../approval/request-approval.ts";
import { actionInstruction, releaseInstruction } from "../release/release-instruction.ts";
import { cacheScopeOf, isFork } from "./cache-scope.ts";
import { taskVariables, traceVariables } from "./task-variables.ts";

export interface TaskLimits {
  leaseMs: number;
  /** Of a step that sets none of its own, and of the checkout. */
  timeoutMs: number;
  stopGraceMs: number;
  logMaxBytes: number;
}

export interface InstructionParts {
  keepers: Pick<Keepers, "projects" | "tasks" | "releases">;
  now: Date;
  secrets: Secrets;
  limits: TaskLimits;
  gitUrlRules: GitUrlRules;
}

/** Why no runner can run a task; a retry would not change that. */
export class Undeliverable extends ReasonError {
  override readonly name = "Undeliverable";
}

/**
 * What a runner is told to do: the protocol's only instruction, for a task that was just claimed. Throws Undeliverable
 * if it cannot be built.
 */
export async function instructionFor(task: Task, lease: string, parts: InstructionParts): Promise<RunTask> {
  const { keepers, limits } = parts;
  const current = await keepers.projects.byId(task.projectId);
  if (!current) throw new Undeliverable(newReason("project_deleted"));
  const project = { ...current, ...task.approval?.pinned };
  const step = stepOf(task);
  // The clone credential belongs to the current address, and must not be sent to another server.
  const isMoved = project.git.url !== current.git.url;
  if (isMoved && step !== "deploy") throw new Undeliverable(newReason("git_url_changed"));
  const isAction = task.serviceAction !== null;
  const fault = isAction ? null : gitUrlFault(project.git.url, parts.gitUrlRules);
  if (fault) throw new Undeliverable(newReason("git_url_refused", { why: fault }));
  const { allowLocal, trusted } = gitAccessOf(project.git.url, parts.gitUrlRules);
  const { credential, files, ...opened } = await openSecrets(
    project,
    parts,
    step === "deploy" ? task.approval?.secretNames : undefined,
  );
  const env = { ...traceVariables(task), ...project.env, ...taskVariables(task, project) };
  const stageOf = (pipeline: Pipeline, name: StageName) => ({
    name,
    steps: stepsToRun(pipeline, name).map((step) => wireStep(step, project.image, limits)),
  });
  const wireServices = (pipeline: Pipeline) =>
    servicesOf(pipeline).map((service) => ({ ...service, image: service.image || project.image }));
  const releaseParts = { keepers, env, now: parts.now, stageOf, servicesOf: wireServices, step };
  const run = await (isAction
    ? actionInstruction(task, releaseParts)
    : releaseInstruction(task, project, releaseParts));
  if (run === null) throw new Undeliverable(newReason("action_moved"));
  const cacheScope = cacheScopeOf(task, project);
  // The author of a fork can read all that the scripts can.
  const secrets = isFork(task) ? { secrets: {}, files: [] } : { ...secretsFor(run, opened), files };
  const diskBytes = limitBytesOf(project.diskMb);
  return {
    type: "run_task",
    taskId: task.id,
    attempt: task.attempt,
    lease,
    projectId: project.id,
    repo: {
      url: project.git.url,
      submodules: project.git.submodules,
      lfs: project.git.lfs === true,
      isFork: isFork(task),
      credential: isMoved || isAction ? null : credential,
      ...{ allowLocal, trusted: [...trusted] },
    },
    ref: task.ref,
    commit: task.commit,
    ...run,
    ...actionOf(task, limits),
    ...approvalOf(task, parts.now),
    waitingTasks: await waitingTasksOf(task, keepers),
    resources: resourcesOf(project),
    cache: project.cache,
    cacheScope,
    ...(cacheScope === "other" && step !== null ? { emptyCache: true } : {}),
    ...secrets,
    limits: {
      ...timingOf(limits.leaseMs),
      logMaxBytes: limits.logMaxBytes,
      logBytesUsed: await keepers.tasks.logBytes(task.id),
      checkoutTimeoutMs: limits.timeoutMs,
      stopGraceMs: limits.stopGraceMs,
      ...(diskBytes === null ? {} : { diskBytes }),
    },
    logFrom: await keepers.tasks.nextLogIndex(task.id),
  };
}

function actionOf({ serviceAction }: Task, { timeoutMs }: TaskLimits): Pick<RunTask, "action"> {
  if (serviceAction === null) return {};
  return { action: serviceAction.type === "exec" ? { ...serviceAction, timeoutMs } : serviceAction };
}

/** Beyond the end of the request, because an approved task may have to wait for its runner. */
const keptLongerMs = 24 * 3_600_000;

function approvalOf(task: Task, now: Date): Pick<RunTask, "approval"> {
  const { approval, ref, commit, message, author } = task;
  const step = stepOf(task);
  if (approval === null || step === null) return {};
  const { built } = approval;
  if (step === "deploy" && built !== null) {
    const { taskId, attempt } = built;
    const workspace = { taskId, attempt, ref, commit: commit ?? "", message, author };
    return { approval: { step, workspace } };
  }
  const keepUntil = now.getTime() + approval.expiresAfterMinutes * 60_000 + keptLongerMs;
  return { approval: { step: "build", keepUntil } };
}

/** Tasks whose built workspaces are still needed: those that wait, and approved ones in the queue. */
async function waitingTasksOf(task: Task, { tasks }: Pick<Keepers, "tasks">): Promise<number[]> {
  const waiting = await tasks.waiting(task.projectId);
  const approved = (await tasks.unfinishedOfProject(task.projectId)).filter(
    ({ id, approval }) => id !== task.id && approval?.state === "approved",
  );
  return [...waiting, ...approved].map(({ id }) => id);
}

function wireStep(step: Step, image: string, limits: Pick<TaskLimits, "timeoutMs">) {
  const { timeout: _seconds, ...fields } = step;
  const decided = { image: step.image || image, timeoutMs: stepTimeoutMs(step, limits) };
  return { ...fields, ...decided };
}

function resourcesOf({ limits: { memoryMb, ...limits } }: Project): RunTask["resources"] {
  return { ...limits, memoryBytes: memoryMb === null ? null : memoryMb * 1024 ** 2 };
}

export function stepTimeoutMs(
  { timeout }: Pick<Step, "timeout">,
  limits: Pick<TaskLimits, "timeoutMs">,
): number {
  return timeout === null ? limits.timeoutMs : timeout * 1000;
}

type OpenedSecrets = Record<SecretScope, Record<string, string>>;

/** A runner gets the secrets of deploy and start only with one of these stages. */
function secretsFor(
  { stages, services }: Pick<RunTask, "stages" | "services">,
  { all, deploy }: OpenedSecrets,
): Pick<RunTask, "secrets" | "deploySecrets"> {
  const names = Object.keys(deploy);
  const isDeploy = Boolean(services?.length) || stages.some(({ name }) => isSideEffect(name));
  if (names.length === 0 || !isDeploy) return { secrets: all };
  if (stages.every(({ name }) => isSideEffect(name))) return { secrets: { ...all, ...deploy } };
  return { secrets: all, deploySecrets: deploy };
}

async function openSecrets(
  project: Project,
  { keepers, secrets }: InstructionParts,
  /** The names that were approved; one may have been stored since the approval was checked. */
  approved?: string[],
): Promise<OpenedSecrets & { credential: GitCredential | null; files: string[] }> {
  let credential: GitCredential | null = null;
  const opened: OpenedSecrets = { all: {}, deploy: {} };
  const files: string[] = [];
  for (const { name, ciphertext, scope, as } of await keepers.projects.secrets(project.id)) {
    if (isReservedSecret(name) && name !== reservedSecrets.credential) continue;
    const value = openSecret(secrets, project.id, name, ciphertext);
    if (name === reservedSecrets.credential) credential = JSON.parse(value) as GitCredential;
    else if (approved === undefined || approved.includes(name)) {
      opened[scope ?? "all"][name] = value;
      if (as === "file") files.push(name);
    }
  }
  return { credential, files, ...opened };
}

function openSecret(secrets: Secrets, projectId: number, name: string, ciphertext: string): string {
  try {
    return secrets.open(sealedPurpose.projectSecret(projectId, name), ciphertext);
  } catch (error) {
    throw new Undeliverable(newReason("secret_unreadable", { name, message: messageOf(error) }));
  }
}
