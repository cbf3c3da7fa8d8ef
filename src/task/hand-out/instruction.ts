import { messageOf, ReasonError } from "../../errors.ts";
import { inEnvironment } from "../../model/environment/environment.ts";
import { type GitUrlRules, gitAccessOf, gitUrlFault } from "../../model/git/git-url.ts";
import { type Pipeline, type Step, servicesOf, stepsToRun } from "../../model/pipeline.ts";
import type { GitCredential, Project } from "../../model/project.ts";
import { isReservedSecret, reservedSecrets, sealedPurpose } from "../../model/sealed.ts";
import { limitBytesOf } from "../../model/service/disk-use.ts";
import type { StoredSecret } from "../../model/settings/stored-secret.ts";
import type { SecretScope } from "../../model/settings/variables.ts";
import { isSideEffect, type StageName } from "../../model/stage/stage-name.ts";
import type { Keepers } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";
import { type HeldAnswer, type RunTask, timingOf } from "../../runner/protocol.ts";
import type { Secrets } from "../../secrets.ts";
import { stepOf } from "../approval/request-approval.ts";
import {
  actionInstruction,
  type ReleaseInstruction,
  releaseInstruction,
} from "../release/release-instruction.ts";
import { type Inherited, inheritedBy, withGroupVariables, withInherited } from "../view/inherited-values.ts";
import { cacheScopeOf, isFork } from "./cache-scope.ts";
import { taskVariables, traceVariables } from "./task-variables.ts";
import { wantedFile } from "./wanted-file.ts";

export interface TaskLimits {
  leaseMs: number;
  /** Of a step that sets none of its own, and of the checkout. */
  timeoutMs: number;
  stopGraceMs: number;
  logMaxBytes: number;
}

export interface InstructionParts {
  keepers: Pick<Keepers, "projects" | "groups" | "tasks" | "releases" | "runners">;
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
  const inherited = await inheritedBy(keepers, current);
  const project = projectOf(task, withInherited(current, inherited));
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
    inherited,
    parts,
    step === "deploy" ? task.approval?.secretNames : undefined,
  );
  const file = wantedFile(task, project);
  const run = file === null ? await runOf(task, project, parts) : unreadRun(task, project);
  if (run === null) throw new Undeliverable(newReason(isAction ? "action_moved" : "release_gone"));
  const cacheScope = cacheScopeOf(task, project);
  // The author of a fork can read all that the scripts can.
  const secrets = isFork(task)
    ? { secrets: {}, files: [] }
    : { ...(file === null ? secretsFor(run, opened) : secretsForFile(task, opened)), files };
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
    ...(file === null ? {} : { pipelineFile: file }),
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

/** The settings that the task is run with. */
function projectOf({ approval, pipeline }: Task, current: Project): Project {
  return { ...current, ...approval?.pinned, ...(pipeline === null ? {} : { pipeline }) };
}

/** What a task runs, once its pipeline is known. Null: what it is an action of does not serve there any more, or the release that
 * it deploys is gone. */
async function runOf(
  task: Task,
  project: Project,
  { keepers, limits, now }: Pick<InstructionParts, "keepers" | "limits" | "now">,
): Promise<ReleaseInstruction | null> {
  const releaseParts = {
    ...{ keepers, now, env: envOf(task, project), step: stepOf(task) },
    stageOf: (pipeline: Pipeline, name: StageName) => ({
      name,
      steps: stepsToRun(pipeline, name).map((step) => wireStep(step, project.image, limits)),
    }),
    servicesOf: (pipeline: Pipeline) =>
      servicesOf(inEnvironment(pipeline, project.environment)).map((service) => ({
        ...service,
        image: service.image || project.image,
      })),
  };
  return task.serviceAction === null
    ? releaseInstruction(task, project, releaseParts)
    : actionInstruction(task, releaseParts);
}

/** What was left out of the instruction of a task whose file has been read since. */
export async function runOfFile(
  task: Task,
  parts: Pick<InstructionParts, "keepers" | "limits" | "now">,
): Promise<HeldAnswer["run"] | null> {
  const current = await parts.keepers.projects.byId(task.projectId);
  if (!current) return null;
  const project = projectOf(task, await withGroupVariables(parts.keepers, current));
  const run = await runOf(task, project, parts);
  if (!run) return null;
  const { stages, services, folders, release } = run;
  return { stages, services, folders, release };
}

function unreadRun(task: Task, project: Project): ReleaseInstruction {
  return {
    ...{ stages: [], services: null, env: envOf(task, project) },
    folders: { data: [], scratch: [], sealed: true },
    release: { isKept: false, from: null, previous: null },
  };
}

function envOf(task: Task, project: Project): Record<string, string> {
  return { ...traceVariables(task), ...project.env, ...taskVariables(task, project) };
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

/** Of a task whose stages are not known yet: as for all that it is asked to run. */
function secretsForFile(
  task: Task,
  { all, deploy }: OpenedSecrets,
): Pick<RunTask, "secrets" | "deploySecrets"> {
  const mayDeploy =
    stepOf(task) === null && task.stages.some(({ name, state }) => isSideEffect(name) && state === "pending");
  return mayDeploy && Object.keys(deploy).length > 0
    ? { secrets: all, deploySecrets: deploy }
    : { secrets: all };
}

async function openSecrets(
  project: Project,
  inherited: Inherited | null,
  { keepers, secrets }: InstructionParts,
  /** The names that were approved; one may have been stored since the approval was checked. */
  approved?: string[],
): Promise<OpenedSecrets & { credential: GitCredential | null; files: string[] }> {
  let credential: GitCredential | null = null;
  const opened: OpenedSecrets = { all: {}, deploy: {} };
  const files: string[] = [];
  for (const { name, purpose, ciphertext, scope, as } of [
    ...(await sealedOfProject(keepers, project)),
    ...(await sealedOfGroup(keepers, inherited, approved !== undefined)),
  ]) {
    const value = openSecret(secrets, purpose, name, ciphertext);
    if (name === reservedSecrets.credential) credential = JSON.parse(value) as GitCredential;
    else if (approved === undefined || approved.includes(name)) {
      opened[scope ?? "all"][name] = value;
      if (as === "file") files.push(name);
    }
  }
  return { credential, files, ...opened };
}

type SealedSecret = StoredSecret & { purpose: string };

/** An environment has those of its project too, except what it hides by a secret or a variable of its own. */
async function sealedOfProject(
  { projects }: Pick<Keepers, "projects">,
  { id, parentId, environment }: Project,
): Promise<SealedSecret[]> {
  const sealedOf = async (ownerId: number) => {
    const stored = await projects.secrets(ownerId);
    return stored
      .filter(({ name }) => !isReservedSecret(name) || name === reservedSecrets.credential)
      .map((secret) => ({ ...secret, purpose: sealedPurpose.projectSecret(ownerId, secret.name) }));
  };
  const own = await sealedOf(id);
  if (parentId === null) return own;
  const hidden = new Set([...own.map(({ name }) => name), ...Object.keys(environment?.env ?? {})]);
  return [...own, ...(await sealedOf(parentId)).filter(({ name }) => !hidden.has(name))];
}

/** Those that nothing of the project hides. After an approval its variables are pinned, and only its secrets may hide one. */
async function sealedOfGroup(
  { groups }: Pick<Keepers, "groups">,
  inherited: Inherited | null,
  isApproved: boolean,
): Promise<SealedSecret[]> {
  const given = inherited?.secrets.filter(({ hiddenBy }) =>
    isApproved ? hiddenBy !== "secret" : hiddenBy === null,
  );
  if (!inherited || !given?.length) return [];
  const { id } = inherited.group;
  const stored = await groups.secrets(id);
  return stored
    .filter(({ name }) => given.some((secret) => secret.name === name))
    .map((secret) => ({ ...secret, purpose: sealedPurpose.groupSecret(id, secret.name) }));
}

function openSecret(secrets: Secrets, purpose: string, name: string, ciphertext: string): string {
  try {
    return secrets.open(purpose, ciphertext);
  } catch (error) {
    throw new Undeliverable(newReason("secret_unreadable", { name, message: messageOf(error) }));
  }
}
