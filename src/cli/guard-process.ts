import { type GuardMessage, runGuard } from "../runner/process/guard.ts";

/** The guard of a runner, see lifeline.ts. */
export async function runGuardProcess(known: string): Promise<void> {
  // Ignores signals and ends with the runner, so that a signal to all processes does not leave scripts unguarded.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  await runGuard(JSON.parse(known) as GuardMessage[], Bun.stdin.stream());
  process.exit(0);
}
