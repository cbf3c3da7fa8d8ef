import { type ClaimRule, claimRules, type RunnersUnderRule, seenWithinMs } from "../../model/runner.ts";
import type { Keepers } from "../../model/store.ts";
import type { TaskWait } from "../../model/task.ts";
import { newReason, type Sentence } from "../../reason/reason.ts";

/** Why no runner takes the queued tasks of these projects, by project; with `runnerId` as if there were no other runner. */
export async function projectWaits(
  { runners }: Pick<Keepers, "runners">,
  projectIds: readonly number[],
  now: Date,
  runnerId?: number,
): Promise<Record<number, TaskWait>> {
  const waits: Record<number, TaskWait> = {};
  for (const [id, found] of Object.entries(await runners.underRules(projectIds, runnerId))) {
    const wait = waitOf(found, now);
    if (wait !== null) waits[Number(id)] = wait;
  }
  return waits;
}

const placeOf = ({ rule }: RunnersUnderRule) =>
  rule === null ? claimRules.length : claimRules.indexOf(rule);

/** The rule that stopped the last runner is why a task waits. */
function waitOf(found: RunnersUnderRule[], now: Date): TaskWait | null {
  const [last] = found.toSorted((a, b) => placeOf(b) - placeOf(a));
  if (last === undefined) return null;
  const { rule, lastSeenAt } = last;
  const isSeen = lastSeenAt !== null && now.getTime() - lastSeenAt.getTime() < seenWithinMs;
  if (rule === null && isSeen) return null;
  const home = found.find((each) => each.home !== null);
  const why = rule === null ? awayText(last) : ruleText(rule, last, home);
  return { reason: newReason("waiting", { why }), isLasting: rule !== null };
}

function awayText({ home, labels }: RunnersUnderRule): Sentence {
  if (home !== null) return newReason("wait_home_away", { runner: home });
  if (labels.length === 0) return newReason("wait_not_connected");
  return newReason("wait_labels_not_connected", { labels: labels.join(", ") });
}

function ruleText(
  rule: ClaimRule,
  { isolation, names, group, ...last }: RunnersUnderRule,
  home: RunnersUnderRule | undefined,
): Sentence {
  const labels = last.labels.join(", ");
  switch (rule) {
    case "wait_group_labels": {
      const refused = last.labels.filter((label) => !group?.labels?.includes(label));
      return newReason(rule, { group: group?.name ?? "", labels: refused.join(", ") });
    }
    case "wait_no_labels":
      return newReason(rule, { labels });
    case "wait_unlabelled":
    case "wait_container":
      return newReason(rule);
    case "wait_bound":
      return labels === "" ? newReason(rule) : newReason("wait_bound_labels", { labels });
    case "wait_isolation":
      return newReason(rule, { isolation, setting: isolation === "sandbox" ? "isolation" : "image" });
    case "wait_isolation_unconfirmed":
      return newReason(rule, { isolation, runners: names });
    case "wait_disabled":
      return home?.rule === rule
        ? newReason("wait_home_disabled", { runner: home.home ?? "" })
        : newReason(rule, { runners: names });
    case "wait_home":
      if (home === undefined) return newReason("wait_home_deleted");
      return newReason(home.rule === "wait_disabled" ? "wait_home_disabled" : "wait_home_unfit", {
        runner: home.home ?? "",
      });
  }
}
