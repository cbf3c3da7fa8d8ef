import { isBranchOrTag, isSafeRef } from "../../model/git/git-ref.ts";
import type { HandledTip } from "../../model/ref-tip.ts";
import type { FilteredDelivery, ProjectState } from "./delivery.ts";

type OfRef = Pick<FilteredDelivery, "event" | "kind" | "keepsTip">;

/** The branch or tag whose tip a delivery handles; null: a merge request, a comment or another event. */
export function tipRefOf({ event, kind, keepsTip }: OfRef): string | null {
  if (event === null || !keepsTip || kind.tip === null) return null;
  if (event.event !== "push" && event.event !== "tag") return null;
  return isBranchOrTag(event.rawRef) && isSafeRef(event.rawRef) ? event.rawRef : null;
}

/** The tip that is stored with the delivery; null: none. */
export function handledTipOf(delivery: FilteredDelivery, now: Date): HandledTip | null {
  const { event, kind, pushedAt } = delivery;
  const ref = tipRefOf(delivery);
  if (ref === null || event === null || kind.tip === null || event.skip !== null) return null;
  return { ref, commit: event.commit?.toLowerCase() ?? "", pushedAt: pushedAt ?? now, kind: kind.tip };
}

/** Whether a poll compared with a tip that is outdated. */
export function isOvertaken({ keepsTip, comparedTip }: FilteredDelivery, { tip }: ProjectState): boolean {
  return keepsTip && comparedTip !== undefined && comparedTip.commit !== (tip?.commit ?? null);
}
