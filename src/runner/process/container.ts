import { rmSync } from "node:fs";

export type EngineName = "podman" | "docker";

/** A container that runs a script, in a form that another process can find again. */
export interface RunningContainer {
  engine: EngineName;
  name: string;
  /** Folder in memory with its environment; removed with the container. */
  folder: string;
}

const giveUpMs = 20_000;
const betweenTriesMs = 250;
const callMs = 15_000;

/** Ends and removes a container with all its processes. Does nothing if it is gone; throws if it cannot be removed. */
export async function removeContainer({ engine, name, folder }: RunningContainer): Promise<void> {
  const giveUpAt = performance.now() + giveUpMs;
  const ignore = engine === "podman" ? ["--ignore"] : [];
  let last = "";
  try {
    for (;;) {
      const removed = await call([engine, "rm", "--force", ...ignore, name]);
      const listed = await call([engine, "ps", "--all", "--quiet", "--filter", `name=^${name}$`]);
      if (listed.exitCode === 0 && listed.output.trim() === "") return;
      last = `${removed.output} ${listed.output}`.trim();
      if (performance.now() > giveUpAt) break;
      await Bun.sleep(betweenTriesMs);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  throw new Error(
    `The container ${name} could not be removed (${last.slice(0, 500)}). Remove it by hand: ${engine} rm --force ${name}`,
  );
}

/** Runs the engine's command to its end and returns its output. */
export async function call(command: string[]): Promise<{ exitCode: number; output: string }> {
  const child = Bun.spawn(command, {
    env: engineEnvironment(process.env),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: callMs,
    killSignal: "SIGKILL",
  });
  const [output, problems] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { exitCode: await child.exited, output: output + problems };
}

const engineVariables =
  /^(PATH|HOME|USER|LOGNAME|TMPDIR|XDG_\w+|DBUS_SESSION_BUS_ADDRESS|(DOCKER|CONTAINERS?|PODMAN)_\w+|(https?|no)_proxy)$/i;

/** The variables of the runner's environment that podman and docker need; none of them reach a container. */
export function engineEnvironment(env: Record<string, string | undefined>): Record<string, string> {
  const known = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(known.filter(([name]) => engineVariables.test(name)));
}
