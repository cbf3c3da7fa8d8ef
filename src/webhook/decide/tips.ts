import type { NormalizedEvent, Situation } from "../../model/delivery.ts";
import { isBranchOrTag, isSafeRef } from "../../model/git/git-ref.ts";
import type { HandledTip } from "../../model/ref-tip.ts";
import type { Keepers } from "../../model/store.ts";
import { reasonText } from "../../reason/reason.ts";
import { askedCommit, isUseful } from "./asked-change.ts";
import type { Decision } from "./task-steps.ts";
import type { Trace } from "./trace.ts";
import type { WayIn } from "./ways-in.ts";

/** How a delivery changes the tips of its project. */
export interface TipRules {
  /** When the push arrived first; null: now. */
  pushedAt: Date | null;
  /** For a poll: the tip that it compared with. Another delivery may have handled the ref since. */
  expected?: { commit: string | null };
}

/** The branch or tag whose tip a delivery handles; null: a merge request, a comment or another event. */
export function tipRefOf(event: NormalizedEvent | null, way: WayIn, tips: TipRules | null): string | null {
  if (event === null || tips === null || way.tip === null) return null;
  if (event.event !== "push" && event.event !== "tag") return null;
  return isBranchOrTag(event.rawRef) && isSafeRef(event.rawRef) ? event.rawRef : null;
}

/** The tip that is stored with the delivery; null: none. */
export function handledTipOf(
  event: NormalizedEvent | null,
  way: WayIn,
  tips: TipRules | null,
  now: Date,
): HandledTip | null {
  const ref = tipRefOf(event, way, tips);
  if (ref === null || event === null || way.tip === null || event.skip !== null) return null;
  const commit = event.commit?.toLowerCase() ?? "";
  return { ref, commit, pushedAt: tips?.pushedAt ?? now, way: way.tip };
}

/** Whether a poll compared with a tip that is outdated. */
export function isOvertaken(tips: TipRules | null, { tip }: Situation): boolean {
  return tips?.expected !== undefined && tips.expected.commit !== (tip?.commit ?? null);
}

/** A push that a poll found before the host reported it: its task exists already, unless it failed or took over another push. */
export async function mergeWithPoll(
  keepers: Pick<Keepers, "tasks">,
  event: NormalizedEvent,
  way: WayIn,
  { tip }: Situation,
  trace: Trace,
): Promise<Decision | null> {
  if (way.tip !== "live" || !tip?.polledTaskId || tip.commit !== event.commit?.toLowerCase()) return null;
  const into = await keepers.tasks.byId(tip.polledTaskId);
  if (into === null || !isUseful(into) || askedCommit(into) !== tip.commit) return null;
  const reason = reasonText("poll_found", { task: into.id });
  trace.add("poll", "stop", tip.commit, `task ${into.id}`, reason);
  return { outcome: { code: "duplicate", reason }, merge: { into, order: null, isDisplaced: false } };
}
