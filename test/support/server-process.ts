import { adminPassword } from "./api-server.ts";
import { deployClient } from "./deploy-server.ts";
import { eventually } from "./eventually.ts";
import { main } from "./program.ts";
import { runnerFolderOf } from "./temporary-folder.ts";

/** A start takes long on a busy machine. */
const listensWithinMs = 60_000;

/** `slipway start` as a separate process, so that it can be killed. */
export interface ServerProcess extends Awaited<ReturnType<typeof deployClient>> {
  pid: number;
  /** Sends a signal and waits for the end; returns the exit code. Services of its runner end by SIGINT only. */
  end(signal: "SIGINT" | "SIGKILL" | "SIGTERM"): Promise<number>;
  /** Everything that it has printed and logged. */
  output(): string;
}

export async function startServerProcess(
  dataDir: string,
  settings: Record<string, string> = {},
  runtimeFlags: string[] = [],
  env: Record<string, string> = {},
  /** A file for the runtime, or a whole command. */
  program: string | readonly string[] = main,
  /** Put before the command, for example to run it as another user. */
  prefix: readonly string[] = [],
): Promise<ServerProcess> {
  const flags = {
    "server-listen": "127.0.0.1:0",
    "data-dir": dataDir,
    "runner-dir": runnerFolderOf(dataDir),
    ...(program === main ? { "runner-isolation": "none" } : {}),
    "tasks-allow-local-repositories": "true",
    "tasks-allow-internal-notifications": "true",
    "tasks-stop-grace": "500ms",
    "push-drain-delay": "0s",
    "push-drain-period": "0s",
    "log-format": "json",
    ...settings,
  };
  const child = Bun.spawn(
    [
      ...prefix,
      ...(typeof program === "string" ? [process.execPath, ...runtimeFlags, program] : program),
      "start",
      ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]),
    ],
    {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      env: { ...process.env, SLIPWAY_ADMIN_PASSWORD: adminPassword, ...env },
    },
  );
  let output = "";
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    for await (const chunk of stream) output += Buffer.from(chunk).toString();
  };
  void collect(child.stdout);
  void collect(child.stderr);
  let url = "";
  await eventually(
    "the server listens",
    () => {
      if (child.exitCode !== null) throw new Error(`the server ended: ${output}`);
      url = /"url":"([^"]+)"[^\n]*"msg":"listening"/.exec(output)?.[1] ?? "";
      return url !== "";
    },
    listensWithinMs,
  );
  return {
    ...(await deployClient(url, dataDir)),
    pid: child.pid,
    output: () => output,
    async end(signal) {
      child.kill(signal);
      return child.exited;
    },
  };
}
