import { thrownReason } from "../../errors.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { type PendingDelivery, traceOn } from "../decide/delivery.ts";
import { applyFilters } from "../decide/filters.ts";
import { rulesOf } from "../hook/compiled-rules.ts";
import type { Hook } from "../hook/hooks.ts";
import { openProjectRemote, type ProjectRemoteOptions } from "../poll/project-remote.ts";

/** Git hosts wait about ten seconds for the answer to a delivery. */
const maxAskMs = 4_000;
/** Each runs git commands beside those of the polls. */
const maxParallel = 3;

/**
 * Asks the host for the files of a push whose commits it did not all list, as polls do, if a path filter would decide about
 * them. Where the host does not answer in time, the list stays unknown and passes.
 */
export function buildAskedPaths(options: ProjectRemoteOptions) {
  let asking = 0;

  async function ask({ project }: Hook, before: string, commit: string) {
    const stop = AbortSignal.timeout(maxAskMs);
    const remote = await openProjectRemote(project, options, { stop, beforeEach: async () => {} });
    try {
      return await remote.pathsBetween(before, commit);
    } finally {
      remote.close();
    }
  }

  return async (hook: Hook, delivery: PendingDelivery): Promise<PendingDelivery> => {
    const { event, kind } = delivery;
    const { before, commit = null, paths = null } = event ?? {};
    if (!event || before === undefined || commit === null || paths !== null) return delivery;
    const isDecisive = hook.config.pathFilter.length > 0 && hook.project.git.url !== "";
    if (!isDecisive || applyFilters(event, rulesOf(hook.config, hook.project), kind).stoppedBy !== null)
      return delivery;
    const why = event.pathsUnknownBecause ?? "";
    const unknown = (fault: Reason) => {
      traceOn(delivery.trace).add("paths", "unknown", "", "", newReason("paths_not_asked", { why, fault }));
      return delivery;
    };
    if (asking >= maxParallel) return unknown(newReason("paths_ask_busy"));
    asking += 1;
    try {
      const asked = await ask(hook, before, commit);
      if (asked.paths === null) return unknown(asked.pathsUnknownBecause ?? "");
      const detail = newReason("paths_asked", { why, number: asked.paths.length });
      traceOn(delivery.trace).add("paths", "pass", `${before}..${commit}`, "", detail);
      const { before: _before, ...rest } = event;
      return { ...delivery, event: { ...rest, ...asked } };
    } catch (error) {
      return unknown(thrownReason(error));
    } finally {
      asking -= 1;
    }
  };
}
export type AskedPaths = ReturnType<typeof buildAskedPaths>;
