import { messageOf } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Store } from "../model/store.ts";
import { checkEveryMs, type HostHooks } from "./host-hooks.ts";
import { takeHookChecks } from "./take-hook-checks.ts";

const lookEveryMs = 10 * 60 * 1000;
const batch = 20;

/** Checks each created webhook once a day. */
export function buildHookChecker({ store, hooks, log }: { store: Store; hooks: HostHooks; log: Logger }) {
  let timer: ReturnType<typeof setInterval> | null = null;
  let running: Promise<void> = Promise.resolve();
  let isClosed = false;

  // One hook that cannot be checked must not end the checks of the others.
  const report = (error: unknown) =>
    log.warn({ error: messageOf(error) }, "a webhook at a Git host could not be checked");

  async function run(): Promise<void> {
    while (!isClosed) {
      const lock = { name: "hook checks", waitMs: 5000 };
      const due = await store.run(takeHookChecks, { everyMs: checkEveryMs, limit: batch }, lock);
      if (due === "timeout" || due.length === 0) return;
      for (const hook of due) if (!isClosed) await hooks.check(hook).catch(report);
    }
  }

  const look = () => {
    running = running.then(run).catch(report);
  };
  return {
    start(): void {
      look();
      timer = setInterval(look, lookEveryMs);
    },
    async close(): Promise<void> {
      isClosed = true;
      if (timer !== null) clearInterval(timer);
      await running;
    },
  };
}
