import { existsSync, openSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { endWithUs } from "../../support/service-process.ts";
import { type Part, type Role, type StartChange, signalSafely, until } from "./part.ts";

export const adminPassword = "the admin password of the fault suite";

export interface SlipwayOptions {
  name: string;
  role: Role;
  /** The checkout that is run. */
  program: string;
  command: "start" | "push" | "deploy" | "runner";
  /** Settings as command-line flags. */
  flags: Record<string, string>;
  environment?: Record<string, string>;
  /** File for its output. */
  logFile: string;
  isReady(): Promise<boolean>;
}

/** The program of a checkout, as its launcher starts it. */
export function commandOf(program: string): string[] {
  const root = resolve(program);
  const runtime = join(root, "node_modules/bun/bin/bun.exe");
  const [launcher, sources] = [join(root, "src/launch/launch.ts"), join(root, "src/main.ts")];
  // An earlier version has no launcher.
  return [existsSync(runtime) ? runtime : process.execPath, existsSync(launcher) ? launcher : sources];
}

export function slipwayPart(options: SlipwayOptions): Part {
  let child: Bun.Subprocess | undefined;
  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  return {
    name: options.name,
    role: options.role,
    politeSignal: "SIGTERM",
    pids: () => (child && isRunning() ? [child.pid] : []),
    isRunning,
    signal: (signal) => {
      if (child && isRunning()) signalSafely(child.pid, signal);
    },
    ended: (limitMs) => until(() => !isRunning(), limitMs),
    async start({ environment = {}, prefix = [] }: StartChange = {}) {
      const output = openSync(options.logFile, "a");
      child = Bun.spawn(
        [
          ...endWithUs(),
          ...prefix,
          ...commandOf(options.program),
          options.command,
          ...Object.entries(options.flags).flatMap(([name, value]) => [`--${name}`, value]),
        ],
        {
          stdin: "ignore",
          stdout: output,
          stderr: output,
          env: {
            PATH: process.env.PATH ?? "",
            HOME: process.env.HOME ?? "",
            SLIPWAY_ADMIN_PASSWORD: adminPassword,
            BUN_CONFIG_MAX_HTTP_REQUESTS: "2000",
            ...options.environment,
            ...environment,
          },
        },
      );
    },
    isReady: async () => isRunning() && (await options.isReady()),
    output: () => readFileSync(options.logFile, "utf8").slice(-4_000),
  };
}

/** The local runner, which the server starts and restarts. */
export function localRunnerPart(dataDir: string): Part {
  const file = join(dataDir, "runner/local.pid");
  const pid = () => {
    try {
      return (JSON.parse(readFileSync(file, "utf8")) as { pid: number }).pid;
    } catch {
      return 0;
    }
  };
  const isRunning = () => pid() > 0 && existsSync(`/proc/${pid()}`);
  return {
    name: "local runner",
    role: "runner",
    politeSignal: "SIGTERM",
    pids: () => (isRunning() ? [pid()] : []),
    isRunning,
    signal: (signal) => {
      if (isRunning()) signalSafely(pid(), signal);
    },
    async ended(limitMs) {
      const before = pid();
      return until(() => pid() !== before || !isRunning(), limitMs);
    },
    start: async () => {},
    isReady: async () => isRunning(),
    output: () => {
      const log = join(dataDir, "runner/runner.log");
      return existsSync(log) ? readFileSync(log, "utf8").slice(-4_000) : "";
    },
  };
}

export async function answersReady(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000), keepalive: false });
    return answer.status === 200;
  } catch {
    return false;
  }
}
