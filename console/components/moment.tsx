import { useSyncExternalStore } from "react";
import type { Task } from "../shapes.ts";
import { durationText, exactText, relativeText } from "../time-text.ts";

type WorkedTask = Pick<Task, "state" | "finishedAt" | "waitedMs" | "approval">;

/** One clock for the page: every relative time moves together. It runs only while something shows a time. */
const listeners = new Set<() => void>();
let nowMs = Date.now();
let ticking: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  ticking ??= setInterval(() => {
    nowMs = Date.now();
    for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
  };
}

export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}

/** `4 min ago`, with the exact time as its title. */
export function Moment({ at }: { at: string }) {
  const text = relativeText(at, useNow());
  return (
    <time dateTime={at} title={exactText(at)} className="nowrap">
      {text}
    </time>
  );
}

/** Time between two moments, without `lessMs`; while the second is missing, it counts. */
export function Elapsed({ from, to, lessMs = 0 }: { from: string; to: string | null; lessMs?: number }) {
  const now = useNow();
  const endMs = to === null ? now : Date.parse(to);
  return <span className="nowrap figures">{durationText(endMs - Date.parse(from) - lessMs)}</span>;
}

/** How long a task has worked, without its wait for an approval: while it waits, as long as its build took. */
export function Worked({ task, from }: { task: WorkedTask; from: string }) {
  const { state, finishedAt, waitedMs, approval } = task;
  const to = state === "waiting" ? (approval?.requestedAt ?? null) : finishedAt;
  return <Elapsed from={from} to={to} lessMs={waitedMs} />;
}
