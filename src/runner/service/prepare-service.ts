import { homedir } from "node:os";
import { newReason } from "../../reason/reason.ts";
import type { KeptProgram } from "../keeper/keeper.ts";
import { engineEnvironment } from "../process/container.ts";
import type { MachineView } from "../sandbox/machine-view.ts";
import { asUser, type RunnerUser } from "../sandbox/runner-user.ts";
import { type SandboxMount, sandboxCommand } from "../sandbox/sandbox-command.ts";
import { CannotRun } from "../stage/cannot-run.ts";
import { containerCommand } from "../stage/container-run.ts";
import type { Execution, ServiceMachine } from "../stage/execution.ts";
import { limited, type Resources, splitLimits } from "../stage/resources.ts";
import { sandboxHome, usualHome } from "../stage/sandbox-run.ts";
import { containerEnvironment, hostEnvironment, ownPathOf } from "../stage/script-environment.ts";
import { secretPaths, stepFilesFolder } from "../stage/step-files.ts";
import { mountOf, type WritableFolder } from "../workspace/release-folders.ts";

/** The folders of a service. */
export interface ServiceFolders {
  source: string;
  isReadOnly: boolean;
  writable: WritableFolder[];
  /** Its own files: secrets, and a command of several lines. */
  files: string;
  home: string;
  temporary: string;
}

/** A service that this machine shall run. */
export interface ServiceScript {
  /** How messages name it. */
  title: string;
  /** The project's image; empty: that of the runner, or none. */
  image: string;
  network: "bridge" | "none";
  isBackground: boolean;
  /** Outside of the sandbox, as the runner's own user. */
  isOnHost: boolean;
  command: string;
  cwd: string;
  /** Fixed name of its container. */
  name: string;
  /** The port that its container publishes, and at which address of the machine. */
  publish: { address: string; port: number } | null;
  resources: Resources;
  folders: ServiceFolders;
  /** The runner's own environment. */
  own: Record<string, string | undefined>;
  variables: Record<string, string>;
  /** Secrets that are files. */
  files: Record<string, string>;
}

export interface PreparedService extends KeptProgram {
  /** A command that runs once beside the service, with the same variables as input. */
  beside(command: string): string[];
}

/** Names of files of a service: its first process, and a command of several lines. */
export const firstProcessFile = "first-process";
export const commandFile = "command";
/** The kernel refuses an argument longer than 128 KiB. */
const argumentMaxBytes = 100_000;

/** Whether the command is an argument of a shell; otherwise it is a file. */
export function isArgument(command: string): boolean {
  return (
    !command.includes("\n") && !command.startsWith("#!") && Buffer.byteLength(command) < argumentMaxBytes
  );
}

function shellCommand(command: string, files: string): string[] {
  if (isArgument(command)) return ["sh", "-euc", command];
  const file = `${files}/${commandFile}`;
  return command.startsWith("#!") ? [file] : ["sh", "-eu", file];
}

/** How a service runs: in a container, in a sandbox, or in a session of its own. */
export function prepareService(script: ServiceScript, execution: Execution): PreparedService {
  const machine = execution.serviceMachine(script.image, script.title, script.resources);
  const { container, resources } = machine;
  if (script.isOnHost && !execution.hasHostSteps)
    throw new CannotRun(newReason("host_steps_off", { stage: script.title }));
  if (script.isOnHost) return { ...onHost(script, null, resources), limits: null };
  if (container !== null) return inContainer(script, container, resources);
  const { group: limits, rest } = splitLimits(resources, machine.controllers);
  const prepared =
    machine.view !== null
      ? inSandbox(script, machine.view, machine.user, rest)
      : onHost(script, machine.user, rest);
  return { ...prepared, limits };
}

/** Arguments of a shell that is the first process. */
const first = (files: string, isBackground: boolean, command: string[]) => [
  ...[`${files}/${firstProcessFile}`, isBackground ? "yes" : "no"],
  ...command,
];
const infoDescriptor = 5;

function inSandbox(
  script: ServiceScript,
  view: MachineView,
  user: RunnerUser | null,
  resources: Resources,
): Omit<PreparedService, "limits"> {
  const { own, folders } = script;
  const home = sandboxHome(view, user?.home ?? homedir());
  const account = { name: user?.name ?? own.USER ?? "", home, shell: user?.shell ?? own.SHELL ?? "/bin/sh" };
  const sandboxed = (isBackground: boolean, command: string[], info?: number) => {
    const whole = sandboxCommand({
      machine: view,
      mounts: [{ source: folders.home, target: home, isReadOnly: false }, ...mountsOf(folders)],
      temporary: folders.temporary,
      cwd: script.cwd,
      hasNetwork: script.network !== "none",
      ...(info === undefined ? {} : { infoDescriptor: info }),
      command: ["sh", ...first(stepFilesFolder, isBackground, limited(resources, command))],
    });
    return user === null ? whole : asUser(user, whole);
  };
  return {
    kind: "sandbox",
    command: sandboxed(script.isBackground, shellCommand(script.command, stepFilesFolder), infoDescriptor),
    cwd: "/",
    variables: hostEnvironment(own, account, withPaths(script, stepFilesFolder)),
    env: { PATH: ownPathOf(own) },
    container: null,
    beside: (command) => sandboxed(false, ["sh", "-euc", command]),
  };
}

function onHost(
  script: ServiceScript,
  user: RunnerUser | null,
  resources: Resources,
): Omit<PreparedService, "limits"> {
  const { own, folders, title } = script;
  if (script.network === "none")
    throw new CannotRun(newReason("no_network_needs_container", { stage: title }));
  const started = (isBackground: boolean, command: string[]) => {
    const whole = ["sh", ...first(folders.files, isBackground, limited(resources, command))];
    // By their paths: the shell of busybox has programs of its own with these names.
    const at = (name: string) => Bun.which(name, { PATH: ownPathOf(own) }) ?? name;
    const [program = "", ...rest] = user === null ? whole : asUser(user, whole);
    return [at("setsid"), at(program), ...rest];
  };
  const account = user === null ? null : { ...user, home: folders.home };
  return {
    kind: "none",
    command: started(script.isBackground, shellCommand(script.command, folders.files)),
    cwd: script.cwd,
    variables: hostEnvironment(own, account, withPaths(script, folders.files)),
    env: { PATH: ownPathOf(own) },
    container: null,
    beside: (command) => started(false, ["sh", "-euc", command]),
  };
}

function inContainer(
  script: ServiceScript,
  { engine, image, user }: NonNullable<ServiceMachine["container"]>,
  resources: Resources,
): PreparedService {
  const { own, folders, publish, name } = script;
  const published = publish === null ? [] : [`--publish=${publish.address}:${publish.port}:${publish.port}`];
  return {
    kind: "container",
    command: containerCommand({
      engine,
      image,
      user,
      name,
      network: script.network,
      resources,
      label: `slipway.service=${name}`,
      mounts: [
        { source: folders.home, target: usualHome, isReadOnly: false },
        { source: folders.temporary, target: "/tmp", isReadOnly: false },
        ...mountsOf(folders),
      ],
      cwd: script.cwd,
      options: ["--interactive", ...published],
      arguments: first(stepFilesFolder, script.isBackground, shellCommand(script.command, stepFilesFolder)),
    }),
    cwd: "/",
    variables: { HOME: usualHome, ...containerEnvironment(own, withPaths(script, stepFilesFolder)) },
    env: { PATH: ownPathOf(own), ...engineEnvironment(own) },
    limits: null,
    container: { engine: engine.name, name, image },
    beside: (command) => [
      ...[engine.name, "exec", "--interactive", name],
      ...["sh", ...first(stepFilesFolder, false, ["sh", "-euc", command])],
    ],
  };
}

function withPaths({ variables, files }: ServiceScript, folder: string): Record<string, string> {
  return { ...variables, ...secretPaths(files, folder) };
}

function mountsOf({ source, isReadOnly, writable, files }: ServiceFolders): SandboxMount[] {
  return [
    { source, isReadOnly },
    ...writable.map(mountOf),
    { source: files, target: stepFilesFolder, isReadOnly: true },
  ];
}
