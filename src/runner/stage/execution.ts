import { Fault, ReasonError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { newReason } from "../../reason/reason.ts";
import type { RunningContainer } from "../process/container.ts";
import { engineEnvironment } from "../process/container.ts";
import { hasControlGroups, sweepControlGroups } from "../process/control-group.ts";
import type { IsolationLevel, RunTask } from "../protocol.ts";
import type { Trust } from "../workspace/trust.ts";
import { containerRun, mountFault, sweepEnvironments } from "./container-run.ts";
import { type Engine, type EngineChoice, findEngine } from "./engine.ts";
import { limited, type ResourceBounds, resourcesFor } from "./resources.ts";
import { containerEnvironment, hostEnvironment, ownPathOf } from "./script-environment.ts";
import { findScriptUser, mustReach, powerfulGroupsOf, type ScriptUser, scriptAsUser } from "./script-user.ts";
import { anyUserOf, openScriptUsers, type UserRange } from "./script-users.ts";
import type { Step } from "./step.ts";

/** How the scripts of this runner are run. */
export interface ExecutionOptions {
  /** One account for all projects. */
  scriptUser: string | undefined;
  /** User ids for each project; not together with `scriptUser`. */
  scriptUsers: UserRange | undefined;
  engine: EngineChoice;
  engineArguments: string[];
  /** For steps without an image: with it, no script runs outside a container. */
  image: string | undefined;
  bounds: ResourceBounds;
}

export interface Execution {
  isolation: IsolationLevel;
  hasContainers: boolean;
  /** Whether each project has users of its own. */
  hasProjectUsers: boolean;
  /** Who runs the scripts of a project; null: the runner's own user. */
  userFor(projectId: number, trust: Trust): ScriptUser | null;
  /** Whether a run can have a control group; where it cannot, a reaper finds its processes. */
  hasControlGroups: boolean;
  prepare(script: Script): PreparedScript;
}

/** A command of a step and the folders that it may access. */
export interface Script {
  step: Pick<Step, "title" | "image" | "network">;
  instruction: Pick<RunTask, "taskId" | "resources">;
  command: string[];
  cwd: string;
  mark: string;
  folders: { source: string; scripts: string; caches: string | null };
  /** Null: the runner's own user. */
  user: ScriptUser | null;
  /** The runner's own environment. */
  own: Record<string, string | undefined>;
  /** Variables of the task: those of the project, secrets, CI_*. */
  variables: Record<string, string>;
  /** Whether processes that the command leaves in a container are an error. */
  mustLeaveNothing: boolean;
}

export interface PreparedScript {
  command: string[];
  cwd: string;
  env: Record<string, string>;
  container?: RunningContainer;
}

/** A step that this runner cannot run as required. */
export class CannotRun extends ReasonError {
  override readonly name = "CannotRun";
}

/** How this machine runs scripts: as which user, in which container. Settings and machine are read once, at start. */
export async function openExecution(
  options: ExecutionOptions,
  root: string,
  log: Logger,
): Promise<Execution> {
  const { scriptUser, scriptUsers } = options;
  if (scriptUser !== undefined && scriptUsers !== undefined)
    throw new Fault("invalid", "Set either runner.scriptUser or runner.scriptUsers, not both.");
  const user = scriptUser === undefined ? null : findScriptUser(scriptUser);
  const users = scriptUsers === undefined ? null : openScriptUsers(scriptUsers, root);
  if (user !== null) mustReach(user, root);
  if (scriptUsers !== undefined) mustReach(anyUserOf(scriptUsers), root);
  sweepControlGroups();
  const found = await findEngine(options.engine, options.engineArguments, log);
  const unfit = found && mountFault(root);
  if (unfit) log.warn(`stages cannot run in containers: ${unfit}; set runner.dir to another folder`);
  const engine = unfit ? null : found;
  const image = options.image ?? null;
  if (image !== null && engine === null)
    throw new Fault(
      "invalid",
      `runner.image is ${image}, but there is no container engine: install podman or docker, or unset runner.image.`,
    );
  if (engine !== null) sweepEnvironments();
  const powerful = user === null ? [] : powerfulGroupsOf(user);
  if (user !== null && powerful.length > 0)
    log.warn(
      { user: user.name, groups: powerful },
      "the scripts' user is in groups that make it as powerful as root: this runner does not count as isolated",
    );
  const isolation =
    image !== null
      ? "container"
      : users !== null || (user !== null && powerful.length === 0)
        ? "user"
        : ("none" as const);
  return {
    isolation,
    hasContainers: engine !== null,
    hasProjectUsers: users !== null,
    hasControlGroups: hasControlGroups(),
    userFor: (projectId, trust) => users?.userFor(projectId, trust) ?? user,
    prepare(script) {
      const resources = resourcesFor(script.instruction.resources, options.bounds);
      const wanted = script.step.image || image;
      if (wanted !== null && engine === null)
        throw new CannotRun(newReason("no_container_engine", { stage: script.step.title, image: wanted }));
      if (wanted === null || engine === null) return onHost(script, resources);
      const started = containerRun({
        engine,
        image: wanted,
        network: script.step.network,
        resources,
        user: script.user ?? ownerOfFiles(engine),
        mounts: mountsOf(script.folders),
        cwd: script.cwd,
        command: script.command,
        env: containerEnvironment(script.own, script.variables),
        mark: script.mark,
        taskId: script.instruction.taskId,
        mustLeaveNothing: script.mustLeaveNothing,
      });
      return { ...started, cwd: "/", env: engineEnvironment(script.own) };
    },
  };
}

function onHost(
  { step, command, cwd, own, variables, user }: Script,
  resources: ReturnType<typeof resourcesFor>,
): PreparedScript {
  if (step.network === "none")
    throw new CannotRun(newReason("no_network_needs_container", { stage: step.title }));
  const bounded = limited(resources, command);
  const env = hostEnvironment(own, user, variables);
  if (user === null) return { command: bounded, cwd, env };
  return { cwd, ...scriptAsUser(user, bounded, env, ownPathOf(own)) };
}

/**
 * The runner's own user, so that it can remove the files. In podman without root, that is the container's root; docker's
 * containers share the users of the machine.
 */
function ownerOfFiles({ name }: Engine): { uid: number; gid: number } {
  if (name === "podman") return { uid: 0, gid: 0 };
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

function mountsOf({ source, scripts, caches }: Script["folders"]) {
  return [
    { folder: source, isReadOnly: false },
    { folder: scripts, isReadOnly: true },
    ...(caches === null ? [] : [{ folder: caches, isReadOnly: false }]),
  ];
}
