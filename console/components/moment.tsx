import { useSyncExternalStore } from "react";
import { useStaleSince } from "../reachability.ts";
import type { Task } from "../shapes.ts";
import { durationText, exactText, relativeText, roughDurationText } from "../time-text.ts";

type WorkedTask = Pick<Task, "state" | "finishedAt" | "waitedMs" | "approval">;
type DatedTask = Pick<Task, "state" | "createdAt" | "startedAt" | "finishedAt">;

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

/** All pages date a task alike: by its end, before that by its start. After its approval it is queued again. */
export function TaskMoment({ task: { state, createdAt, startedAt, finishedAt } }: { task: DatedTask }) {
  return <Moment at={finishedAt ?? (state === "queued" ? createdAt : (startedAt ?? createdAt))} />;
}

/** Time between two moments, without `lessMs`; while the second is missing, it counts, as long as the server answers. */
export function Elapsed({
  from,
  to,
  lessMs = 0,
  isRough = false,
}: {
  from: string;
  to: string | null;
  lessMs?: number;
  /** Without seconds from a minute on. */
  isRough?: boolean;
}) {
  const now = useNow();
  const staleSince = useStaleSince();
  const endMs = to === null ? (staleSince ?? now) : Date.parse(to);
  const text = (isRough ? roughDurationText : durationText)(endMs - Date.parse(from) - lessMs);
  return <span className="nowrap figures">{text}</span>;
}

/** How long a task has worked, without its wait for an approval: while it waits, as long as its build took. */
export function Worked({
  task,
  from,
  isRough = false,
}: {
  task: WorkedTask;
  from: string;
  isRough?: boolean;
}) {
  const { state, finishedAt, waitedMs, approval } = task;
  const to = state === "waiting" ? (approval?.requestedAt ?? null) : finishedAt;
  return <Elapsed from={from} to={to} lessMs={waitedMs} isRough={isRough} />;
}
