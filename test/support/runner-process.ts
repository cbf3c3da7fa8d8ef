import { join } from "node:path";
import { main } from "./program.ts";
import { runnerFolderOf, temporaryFolder } from "./temporary-folder.ts";

/** `slipway runner` as on another machine: its own process and its own folder. */
export function startRunnerProcess(
  server: string,
  /** Null: the token comes from another source. */
  token: string | null,
  concurrency: number,
  settings: Record<string, string> = {},
  options: { flags?: string[]; stdin?: string } = {},
) {
  const dataDir = temporaryFolder("runner");
  const child = Bun.spawn(
    [
      process.execPath,
      main,
      "runner",
      ...["--data-dir", dataDir],
      ...["--tasks-concurrency", String(concurrency)],
      ...(options.flags ?? []),
    ],
    {
      stdin: options.stdin === undefined ? "ignore" : Buffer.from(options.stdin),
      stdout: Bun.file(join(dataDir, "runner.log")),
      stderr: "inherit",
      env: {
        PATH: process.env.PATH,
        SLIPWAY_RUNNER_SERVER: server,
        SLIPWAY_RUNNER_DIR: runnerFolderOf(dataDir),
        // Tests follow processes by their ids, and let scripts write to folders of the test.
        SLIPWAY_RUNNER_ISOLATION: "none",
        ...(token === null ? {} : { SLIPWAY_RUNNER_TOKEN: token }),
        ...settings,
      },
    },
  );
  return {
    pid: child.pid,
    log: () => Bun.file(join(dataDir, "runner.log")).text(),
    /** By SIGINT, its services end too; by SIGTERM they go on. */
    async stop(signal: "SIGINT" | "SIGTERM" = "SIGINT") {
      child.kill(signal);
      await child.exited;
    },
  };
}
