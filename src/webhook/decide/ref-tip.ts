import type { NormalizedEvent, ProjectState } from "../../model/delivery.ts";
import { isBranchOrTag, isSafeRef } from "../../model/git/git-ref.ts";
import type { HandledTip } from "../../model/ref-tip.ts";
import type { DeliveryKind } from "./delivery-kind.ts";

/** How a delivery changes the tips of its project. */
export interface TipRules {
  /** When the push arrived first; null: now. */
  pushedAt: Date | null;
  /** For a poll: the tip that it compared with. Another delivery may have handled the ref since. */
  expected?: { commit: string | null };
}

/** The branch or tag whose tip a delivery handles; null: a merge request, a comment or another event. */
export function tipRefOf(
  event: NormalizedEvent | null,
  kind: DeliveryKind,
  tips: TipRules | null,
): string | null {
  if (event === null || tips === null || kind.tip === null) return null;
  if (event.event !== "push" && event.event !== "tag") return null;
  return isBranchOrTag(event.rawRef) && isSafeRef(event.rawRef) ? event.rawRef : null;
}

/** The tip that is stored with the delivery; null: none. */
export function handledTipOf(
  event: NormalizedEvent | null,
  kind: DeliveryKind,
  tips: TipRules | null,
  now: Date,
): HandledTip | null {
  const ref = tipRefOf(event, kind, tips);
  if (ref === null || event === null || kind.tip === null || event.skip !== null) return null;
  const commit = event.commit?.toLowerCase() ?? "";
  return { ref, commit, pushedAt: tips?.pushedAt ?? now, kind: kind.tip };
}

/** Whether a poll compared with a tip that is outdated. */
export function isOvertaken(tips: TipRules | null, { tip }: ProjectState): boolean {
  return tips?.expected !== undefined && tips.expected.commit !== (tip?.commit ?? null);
}
