import type { RemoteRef } from "../../git/remote.ts";
import { normalized, pollEvent, refFieldsOf } from "../../git-host/delivery/normalized.ts";
import type { NormalizedEvent } from "../../model/delivery.ts";
import { isSafeRef, toFullRef } from "../../model/git/git-ref.ts";
import type { Project } from "../../model/project.ts";
import type { Poll, RefTip } from "../../model/ref-tip.ts";
import { inOrder, newReason, type Reason } from "../../reason/reason.ts";
import { revisionOf } from "../../revision.ts";
import { deliveryKinds } from "../decide/delivery-kind.ts";
import { applyFilters, newFilterWork } from "../decide/filters.ts";
import type { Rules } from "../hook/compiled-rules.ts";
import type { FoundTip } from "./poll-operations.ts";

/** More matching branches and tags of one project are not polled. */
const maxRefs = 2000;
/** Refs whose filters are evaluated before other work runs. */
const refsPerTurn = 200;

/** What a poll has to do. */
export interface Comparison {
  /** Refs whose tip is new: each becomes a delivery. */
  pushed: { ref: string; tip: RemoteRef; before: string | null }[];
  /** Tips that are only stored, or deleted. */
  found: FoundTip[];
  note: Reason;
}

/** The filters that select refs. If they change, newly selected refs are not new pushes. */
export function scopeOf({ events, branches, tags }: Rules): string {
  return revisionOf({
    events,
    branches: branches.map(({ text }) => text),
    tags: tags.map(({ text }) => text),
  });
}

export function kindsOf({ events }: Rules): ("heads" | "tags")[] {
  return [
    ...(events.includes("push") ? (["heads"] as const) : []),
    ...(events.includes("tag") ? (["tags"] as const) : []),
  ];
}

/** An event of a ref, before its commit is known. */
export function eventOf(ref: string, known: Partial<NormalizedEvent> = {}): NormalizedEvent {
  return normalized({ ...refFieldsOf(ref, ""), rawEvent: pollEvent, ...known });
}

export async function findMissedPushes(
  { rules, project }: { rules: Rules; project: Project },
  remote: ReadonlyMap<string, RemoteRef>,
  stored: readonly RefTip[],
  poll: Pick<Poll, "url" | "version" | "scope">,
  version: string,
): Promise<Comparison> {
  const { chosen, surplus } = await choose(rules, remote, toFullRef(project.git.ref));
  // Before the first poll that succeeds, the stored tips are those of deliveries: later pushes are new.
  const isBaseline = poll.url !== "" && (poll.url !== project.git.url || poll.version !== version);
  const isSameScope = poll.scope === scopeOf(rules);
  const tips = new Map(stored.map((tip) => [tip.ref, tip.commit]));
  const pushed: Comparison["pushed"] = [];
  const found: FoundTip[] = stored
    .filter(({ ref }) => !chosen.includes(ref))
    .map(({ ref, commit }) => ({ ref, commit: null, expected: commit }));
  const passedOver: string[] = [];
  for (const ref of chosen) {
    const tip = remote.get(ref);
    const before = tips.get(ref) ?? null;
    if (tip === undefined || isHandled(before, tip)) continue;
    if (isBaseline && poll.url === project.git.url && before) passedOver.push(ref);
    if (isBaseline || before === "" || (before === null && !isSameScope))
      found.push({ ref, commit: tip.commit, expected: before });
    else pushed.push({ ref, tip, before });
  }
  return { pushed, found, note: inOrder(passedOverNote(passedOver), surplusNote(surplus)) };
}

/** The host may have named an annotated tag itself, or only the first digits of a commit. */
function isHandled(before: string | null, { commit, object }: RemoteRef): boolean {
  if (before === null || before === "") return false;
  return commit.startsWith(before) || object === before;
}

/**
 * The refs that pass the filters. The project's own branch comes last: with a project-wide debounce, the last one is
 * built.
 */
async function choose(
  rules: Rules,
  remote: ReadonlyMap<string, RemoteRef>,
  ownRef: string,
): Promise<{ chosen: string[]; surplus: number }> {
  const work = newFilterWork();
  const chosen: string[] = [];
  let evaluated = 0;
  let isOwnChosen = false;
  for (const ref of remote.keys()) {
    if (++evaluated % refsPerTurn === 0) await Bun.sleep(0);
    if (!isSafeRef(ref)) continue;
    if (applyFilters(eventOf(ref), rules, deliveryKinds.poll, work).stoppedBy !== null) continue;
    if (ref === ownRef) isOwnChosen = true;
    else chosen.push(ref);
  }
  const own = isOwnChosen ? [ownRef] : [];
  const room = maxRefs - own.length;
  return { chosen: [...chosen.slice(0, room), ...own], surplus: Math.max(0, chosen.length - room) };
}

const maxNamed = 5;

function passedOverNote(refs: readonly string[]): Reason {
  if (refs.length === 0) return "";
  const named = refs.slice(0, maxNamed).join(", ");
  return refs.length > maxNamed
    ? newReason("poll_first_more", { refs: named, more: refs.length - maxNamed })
    : newReason("poll_first", { refs: named });
}

function surplusNote(surplus: number): Reason {
  return surplus === 0 ? "" : newReason("poll_surplus", { count: surplus, limit: maxRefs });
}
