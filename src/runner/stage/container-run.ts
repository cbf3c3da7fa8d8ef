import type { RunningContainer } from "../process/container.ts";
import type { SandboxMount } from "../sandbox/sandbox-command.ts";
import type { Engine } from "./engine.ts";
import type { Resources } from "./resources.ts";
import { type SecretFiles, stepFilesFolder, writeStepFiles } from "./step-files.ts";

export interface ContainerRun {
  engine: Engine;
  image: string;
  network: "bridge" | "none";
  resources: Resources;
  /** Owner of the files that the script creates. The image's own user could not write to the workspace. */
  user: { uid: number; gid: number };
  /** Folders of the host. */
  mounts: SandboxMount[];
  cwd: string;
  command: string[];
  /** Environment of the script, secrets included. */
  env: Record<string, string>;
  files: SecretFiles;
  mark: string;
  taskId: number;
}

export interface StartedContainer {
  command: string[];
  container: RunningContainer;
}

/** Docker grants these by default: device files in the workspace, and raw network packets. */
const droppedCapabilities = ["MKNOD", "NET_RAW"];
/** The limit of a container without its own: enough for a large build, and a stop for a fork bomb. */
const processesMax = 8192;

/** A container of an engine: its settings and the command in it. */
export interface ContainerCommand
  extends Pick<ContainerRun, "engine" | "image" | "network" | "resources" | "user" | "mounts" | "cwd"> {
  name: string;
  label: string;
  /** More options of `run`. */
  options?: string[];
  /** Arguments of a shell of the image. */
  arguments: string[];
}

/** Project settings determine the image, the network and the limits, never mounts or privileges. */
export function containerCommand(run: ContainerCommand): string[] {
  const { engine, resources } = run;
  const isPodman = engine.name === "podman";
  const network = run.network === "none" ? "none" : isPodman ? "private" : "bridge";
  const options = {
    name: run.name,
    label: run.label,
    network,
    workdir: run.cwd,
    entrypoint: "sh",
    "log-driver": "none",
    "stop-timeout": "0",
    "security-opt": "no-new-privileges",
    "pids-limit": String(resources.processes ?? processesMax),
    ...(resources.memoryBytes === null
      ? {}
      : { memory: `${resources.memoryBytes}b`, "memory-swap": `${resources.memoryBytes}b` }),
    ...(resources.cpus === null ? {} : { cpus: String(resources.cpus) }),
    user: `${run.user.uid}:${run.user.gid}`,
    ...(isPodman ? { "http-proxy": "false" } : {}),
  };
  const mounts = run.mounts.map(({ source, target, isReadOnly }) =>
    mount(source, target ?? source, isReadOnly),
  );
  return [
    ...[engine.name, "run", "--rm", "--pull=missing", ...engine.arguments],
    ...Object.entries(options).map(([option, value]) => `--${option}=${value}`),
    ...droppedCapabilities.map((capability) => `--cap-drop=${capability}`),
    ...[...mounts, ...(run.options ?? [])],
    ...[run.image, ...run.arguments],
  ];
}

/**
 * The engine's command that runs a script in a container. The environment is in a file in memory that is mounted
 * read-only: arguments and `inspect` show neither secrets nor variables.
 */
export function containerRun(run: ContainerRun): StartedContainer {
  const { engine, resources } = run;
  const name = `slipway-${run.mark}`;
  const folder = writeStepFiles(run.env, run.files, run.user);
  return {
    command: containerCommand({
      ...run,
      name,
      label: `slipway.task=${run.taskId}`,
      mounts: [...run.mounts, { source: folder, target: stepFilesFolder, isReadOnly: true }],
      arguments: ["-c", wrapper, "sh", String(resources.nice), ...run.command],
    }),
    container: { engine: engine.name, name, folder },
  };
}

function mount(source: string, target: string, isReadOnly: boolean): string {
  return `--mount=type=bind,source=${source},target=${target}${isReadOnly ? ",readonly" : ""}`;
}

/** Why the engine cannot mount a folder; null: it can. */
export function mountFault(folder: string): string | null {
  return /[,"\n]/.test(folder) ? `the path ${folder} has a comma, a quote or a line end` : null;
}

/**
 * The first process of the container. Engines send SIGTERM only to it, and the kernel lets the first process ignore the
 * signal, so it forwards the signal to all others.
 */
const wrapper = `set -a; . ${stepFilesFolder}/env || exit 125; set +a
slipway_nice=$1; shift
[ "$slipway_nice" = 0 ] || renice -n "$slipway_nice" -p 1 >/dev/null 2>&1 || set -- nice -n "$slipway_nice" "$@"
trap 'kill -TERM -1 2>/dev/null' TERM
"$@" &
main=$!
code=0
wait "$main" || code=$?
while kill -0 "$main" 2>/dev/null; do code=0; wait "$main" || code=$?; done
exit "$code"`;
