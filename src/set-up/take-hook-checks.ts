import type { HostHook } from "../model/host/host-hook.ts";
import { operation } from "../model/store.ts";

/** Takes checks that are due and postpones their next time, so that one server does each. */
export const takeHookChecks = operation(
  "takeHookChecks",
  async ({ hostHooks, now }, { everyMs, limit }: { everyMs: number; limit: number }): Promise<HostHook[]> => {
    const due = await hostHooks.due(now(), limit);
    for (const hook of due)
      await hostHooks.saveCheck(hook, { ...hook, nextCheckAt: new Date(now().getTime() + everyMs) });
    return due;
  },
);
