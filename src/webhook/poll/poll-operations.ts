import type { RefTip } from "../../model/ref-tip.ts";
import { operation } from "../../model/store.ts";
import type { Reason } from "../../reason/reason.ts";

interface PollRequest {
  holder: string;
  holdMs: number;
  everyMs: number;
  limit: number;
  /** Part of the limit: at most this many projects whose last poll failed. */
  failedLimit: number;
}

export interface TakenPoll {
  projectId: number;
  /** Whether the last poll of the project failed. */
  hasFailed: boolean;
}

/** Takes polls that are due. It runs with one lock over all servers, so that each poll has one holder. */
export const takePolls = operation(
  "takePolls",
  async ({ polls, now }, { holder, holdMs, everyMs, limit, failedLimit }: PollRequest) => {
    const at = now();
    const when = { now: at, latest: new Date(at.getTime() + everyMs) };
    const others = await polls.due(when, false, limit);
    const failed = await polls.due(when, true, Math.min(failedLimit, limit - others.length));
    const taken: TakenPoll[] = [
      ...others.map((projectId) => ({ projectId, hasFailed: false })),
      ...failed.map((projectId) => ({ projectId, hasFailed: true })),
    ];
    for (const { projectId } of taken)
      await polls.hold(projectId, holder, at, new Date(at.getTime() + holdMs));
    return taken;
  },
);

/** The result of a poll for a ref that makes no delivery. */
export interface FoundTip extends Pick<RefTip, "ref"> {
  /** Null: the ref is no longer polled. */
  commit: string | null;
  /** The tip that the poll compared with; null: there was none. */
  expected: string | null;
}

export interface PollResult {
  projectId: number;
  holder: string;
  found: FoundTip[];
  /** Null: unchanged. */
  basis: { url: string; version: string; scope: string } | null;
  everyMs: number;
  /** False: it was ended early, and the next poll may begin at once. */
  isDone: boolean;
  error: Reason;
  note: Reason;
}

/**
 * Stores the result of a poll, if it still holds its project. It runs with the project's lock held: a tip that a delivery
 * has changed since is left unchanged.
 */
export const finishPoll = operation(
  "finishPoll",
  async ({ polls, refTips, now }, { projectId, holder, found, everyMs, ...result }: PollResult) => {
    const poll = await polls.ofProject(projectId);
    // The webhook was disabled meanwhile, the credential has changed, or another server has taken over.
    if (poll?.heldBy !== holder) return false;
    const at = now();
    const tips = new Map((await refTips.ofProject(projectId)).map(({ ref, commit }) => [ref, commit]));
    const current = found.filter(({ ref, expected }) => (tips.get(ref) ?? null) === expected);
    const kept = current.flatMap(({ ref, commit }) => (commit === null ? [] : [{ ref, commit }]));
    const gone = current.filter(({ commit }) => commit === null).map(({ ref }) => ref);
    await refTips.set(projectId, kept, at);
    await refTips.delete(projectId, gone);
    const { url, version, scope } = result.basis ?? poll;
    await polls.finish(projectId, {
      ...{ url, version, scope },
      lastAt: result.isDone ? at : poll.lastAt,
      nextAt: result.isDone ? new Date(at.getTime() + everyMs) : at,
      error: result.error,
      note: result.note,
    });
    return true;
  },
);
