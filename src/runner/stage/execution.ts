import { homedir } from "node:os";
import { Fault } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { IsolationLevel } from "../../model/execution.ts";
import { newReason, renderReason, type Sentence } from "../../reason/reason.ts";
import { engineEnvironment, type RunningContainer } from "../process/container.ts";
import { type GroupLimits, openGroupLimits, sweepControlGroups } from "../process/control-group.ts";
import type { RunTask } from "../protocol.ts";
import { type MachineView, readMachineView, type SandboxPath } from "../sandbox/machine-view.ts";
import { type MissingProgram, missingProgram } from "../sandbox/missing-program.ts";
import { findRunnerUser, mustReach, type RunnerUser } from "../sandbox/runner-user.ts";
import type { SandboxMount } from "../sandbox/sandbox-command.ts";
import { trySandbox } from "../sandbox/try-sandbox.ts";
import { mountOf, type WritableFolder } from "../workspace/release-folders.ts";
import { CannotRun } from "./cannot-run.ts";
import { containerRun, mountFault } from "./container-run.ts";
import { type Engine, type EngineChoice, findEngine } from "./engine.ts";
import { limited, type ResourceBounds, type Resources, resourcesFor, splitLimits } from "./resources.ts";
import { sandboxHome, sandboxRun, usualHome } from "./sandbox-run.ts";
import { containerEnvironment, hostEnvironment, ownPathOf, scriptAsUser } from "./script-environment.ts";
import type { Step } from "./step.ts";
import { type SecretFiles, secretPaths, sweepStepFiles, writeSecretFiles } from "./step-files.ts";

/** `auto`: the sandbox where it works. `sandbox`: a runner that cannot have it does not start. */
export type IsolationChoice = "auto" | "sandbox" | "none";

/** How the scripts of this runner are run. */
export interface ExecutionOptions {
  /** Who runs scripts instead of root; undefined: the usual account. */
  user: string | undefined;
  isolation: IsolationChoice;
  /** Folders that a sandbox shows besides those of the machine and the task. */
  sandboxPaths: SandboxPath[];
  /** Whether steps that ask for it run outside of the sandbox, as the runner's own user. */
  hostSteps: boolean;
  /** What no sandbox may show. */
  secretPaths: string[];
  engine: EngineChoice;
  engineArguments: string[];
  /** For steps without an image: with it, no script runs outside a container. */
  image: string | undefined;
  bounds: ResourceBounds;
  /** Called at start with why scripts are not isolated, and how they can be. */
  onNotIsolated?: (why: Sentence) => void;
}

export interface Execution {
  isolation: IsolationLevel;
  hasContainers: boolean;
  /** Whether steps that ask for it run outside of the sandbox. */
  hasHostSteps: boolean;
  /** Who runs scripts; null: the runner's own user. */
  user: RunnerUser | null;
  /** A program that a script in a sandbox did not find, although the machine has it. */
  missingProgram(output: string, own: Script["own"]): MissingProgram | null;
  prepare(script: Script): PreparedScript;
  /** What a service of this image can use; empty: of the runner's image, or none. `title` is for messages. */
  serviceMachine(image: string, title: string, resources: Resources): ServiceMachine;
}

/** What this machine has for a service. */
export interface ServiceMachine {
  /** Null: no sandbox. */
  view: MachineView | null;
  user: RunnerUser | null;
  /** Set: the service runs in a container. */
  container: { engine: Engine; image: string; user: { uid: number; gid: number } } | null;
  /** Limits that control groups can set. */
  controllers: string[];
  /** Its limits, within those of the runner. */
  resources: Resources;
}

/** The folders of a task that a script may access. */
export interface ScriptFolders {
  source: string;
  /** Whether the checkout can only be read, because it is a sealed release. */
  isReadOnly: boolean;
  /** Folders outside of the checkout that links in it lead to. */
  writable: WritableFolder[];
  scripts: string;
  caches: string | null;
  /** New for each stage. */
  home: string;
  temporary: string;
}

/** A command of a step and the folders that it may access. */
export interface Script {
  step: Pick<Step, "stage" | "title" | "image" | "network" | "host">;
  instruction: Pick<RunTask, "taskId" | "resources">;
  command: string[];
  cwd: string;
  mark: string;
  folders: ScriptFolders;
  /** The runner's own environment. */
  own: Record<string, string | undefined>;
  /** Variables of the task: those of the project, secrets, CI_*. */
  variables: Record<string, string>;
  files: SecretFiles;
}

export interface PreparedScript {
  command: string[];
  cwd: string;
  env: Record<string, string>;
  container?: RunningContainer;
  /** The command is bwrap, with which everything inside ends. */
  isSandbox?: boolean;
  /** A folder in memory that is removed with the step. */
  stepFiles?: string;
  /** Limits of its control group. */
  limits?: GroupLimits;
}

/** How this machine runs scripts: as which user, in which container or sandbox. Settings and machine are read once, at start. */
export async function openExecution(
  options: ExecutionOptions,
  root: string,
  log: Logger,
): Promise<Execution> {
  const user = findRunnerUser(options.user, log);
  if (user !== null) mustReach(user, root);
  const controllers = openGroupLimits();
  sweepControlGroups();
  sweepStepFiles();
  const image = options.image ?? null;
  const engine = await openEngine(options, root, log);
  const machine = await openSandbox(options, user, log);
  const isolation = image !== null ? "container" : machine !== null ? "sandbox" : "none";
  /** Null: what runs needs no container. */
  const containerFor = (ofProject: string, title: string) => {
    const wanted = ofProject || image;
    if (wanted === null) return null;
    if (engine === null)
      throw new CannotRun(newReason("no_container_engine", { stage: title, image: wanted }));
    return { engine, image: wanted, user: user ?? ownerOfFiles(engine) };
  };
  return {
    isolation,
    hasContainers: engine !== null,
    hasHostSteps: options.hostSteps,
    user,
    missingProgram: (output, own) =>
      machine === null ? null : missingProgram(output, ownPathOf(own), machine),
    prepare(script) {
      const resources = resourcesFor(script.instruction.resources, options.bounds);
      if (script.step.host && !options.hostSteps)
        throw new CannotRun(newReason("host_steps_off", { stage: script.step.title }));
      if (script.step.host) return onHost(script, null, resources);
      const container = containerFor(script.step.image, script.step.title);
      if (container !== null) return inContainer(script, container, resources);
      if (machine === null) return onHost(script, user, resources);
      const { group, rest } = splitLimits(resources, controllers);
      return { ...inSandbox(script, machine, user, rest), ...(group === null ? {} : { limits: group }) };
    },
    serviceMachine: (ofProject, title, asked) => ({
      ...{ view: machine, user, controllers },
      container: containerFor(ofProject, title),
      resources: resourcesFor(asked, options.bounds),
    }),
  };
}

async function openEngine(options: ExecutionOptions, root: string, log: Logger): Promise<Engine | null> {
  const found = await findEngine(options.engine, options.engineArguments, log);
  const unfit = found && mountFault(root);
  if (unfit) log.warn(`stages cannot run in containers: ${unfit}; set runner.dir to another folder`);
  const engine = unfit ? null : found;
  if (options.image !== undefined && engine === null)
    throw new Fault(
      "invalid",
      `runner.image is ${options.image}, but there is no container engine: install podman or docker, or unset runner.image.`,
    );
  return engine;
}

/** What sandboxes show; null: scripts run without one. */
async function openSandbox(
  { isolation, sandboxPaths, secretPaths, image, onNotIsolated = () => {} }: ExecutionOptions,
  user: RunnerUser | null,
  log: Logger,
): Promise<MachineView | null> {
  if (isolation === "none") {
    if (image === undefined) onNotIsolated(newReason("no_sandbox_setting"));
    return null;
  }
  const machine = readMachineView(sandboxPaths, secretPaths);
  const fault = await trySandbox(machine, user);
  if (fault === null) return machine;
  if (isolation === "sandbox")
    throw new Fault("invalid", `runner.isolation is sandbox, but ${renderReason(fault)}.`);
  if (image !== undefined) return null;
  log.warn(`scripts are not isolated, because ${renderReason(fault)}`);
  onNotIsolated(fault);
  return null;
}

function inContainer(
  script: Script,
  container: { engine: Engine; image: string; user: { uid: number; gid: number } },
  resources: Resources,
): PreparedScript {
  const started = containerRun({
    ...container,
    network: script.step.network,
    resources,
    mounts: [
      { source: script.folders.home, target: usualHome, isReadOnly: false },
      { source: script.folders.temporary, target: "/tmp", isReadOnly: false },
      ...mountsOf(script.folders),
    ],
    cwd: script.cwd,
    command: script.command,
    env: { HOME: usualHome, ...containerEnvironment(script.own, script.variables) },
    files: script.files,
    mark: script.mark,
    taskId: script.instruction.taskId,
  });
  return { ...started, cwd: "/", env: engineEnvironment(script.own) };
}

function inSandbox(
  script: Script,
  machine: MachineView,
  user: RunnerUser | null,
  resources: Resources,
): PreparedScript {
  const { folders, own } = script;
  const home = sandboxHome(machine, user?.home ?? homedir());
  const account = { name: user?.name ?? own.USER ?? "", home, shell: user?.shell ?? own.SHELL ?? "/bin/sh" };
  const { command, stepFiles } = sandboxRun({
    machine,
    user,
    mounts: [{ source: folders.home, target: home, isReadOnly: false }, ...mountsOf(folders)],
    temporary: folders.temporary,
    cwd: script.cwd,
    hasNetwork: script.step.network !== "none",
    command: limited(resources, script.command),
    env: hostEnvironment(own, account, script.variables),
    files: script.files,
  });
  return { command, cwd: "/", env: { PATH: ownPathOf(own) }, isSandbox: true, stepFiles };
}

function onHost(
  { step, command, cwd, own, variables, folders, files }: Script,
  user: RunnerUser | null,
  resources: Resources,
): PreparedScript {
  if (step.network === "none")
    throw new CannotRun(newReason("no_network_needs_container", { stage: step.title }));
  const bounded = limited(resources, command);
  const folder = Object.keys(files).length === 0 ? null : writeSecretFiles(files, user);
  const all = folder === null ? variables : { ...variables, ...secretPaths(files, folder) };
  const kept = folder === null ? {} : { stepFiles: folder };
  if (user === null) return { command: bounded, cwd, env: hostEnvironment(own, null, all), ...kept };
  const env = hostEnvironment(own, { ...user, home: folders.home }, all);
  return { cwd, ...scriptAsUser(user, bounded, env, ownPathOf(own)), ...kept };
}

/**
 * The runner's own user, so that it can remove the files. In podman without root, that is the container's root; docker's
 * containers share the users of the machine.
 */
function ownerOfFiles({ name }: Engine): { uid: number; gid: number } {
  if (name === "podman") return { uid: 0, gid: 0 };
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

function mountsOf({ source, isReadOnly, writable, scripts, caches }: ScriptFolders): SandboxMount[] {
  return [
    { source, isReadOnly },
    ...writable.map(mountOf),
    { source: scripts, isReadOnly: true },
    ...(caches === null ? [] : [{ source: caches, isReadOnly: false }]),
  ];
}
