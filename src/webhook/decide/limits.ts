/** At most `limit` marks of one key in any span of `windowMs`. Keys are bounded; the one longest unused is forgotten. */
export interface SlidingLimit {
  /** Marks now and answers null, or answers in how many milliseconds the oldest mark leaves. */
  take(key: string | number, nowMs: number): number | null;
  /** What `take` would answer, without a mark. */
  waitMs(key: string | number, nowMs: number): number | null;
  /** Takes a mark of that time back, as if it had not happened. */
  giveBack(key: string | number, takenAtMs: number): void;
}

/** Times of a key, oldest first from `head`. */
interface Marks {
  times: number[];
  head: number;
}

const maxKeys = 20_000;

export function buildSlidingLimit(limit: number, windowMs = 60_000): SlidingLimit {
  const marksOf = new Map<string | number, Marks>();

  function touch(key: string | number): Marks {
    const marks = marksOf.get(key) ?? { times: [], head: 0 };
    marksOf.delete(key);
    marksOf.set(key, marks);
    if (marksOf.size > maxKeys) marksOf.delete(marksOf.keys().next().value ?? key);
    return marks;
  }

  function waitOf(marks: Marks, nowMs: number): number | null {
    dropUntil(marks, nowMs - windowMs);
    if (marks.times.length - marks.head < limit) return null;
    return (marks.times[marks.head] ?? nowMs) + windowMs - nowMs;
  }

  return {
    take(key, nowMs) {
      const marks = touch(key);
      const waitMs = waitOf(marks, nowMs);
      if (waitMs === null) marks.times.push(nowMs);
      return waitMs;
    },
    waitMs(key, nowMs) {
      const marks = marksOf.get(key);
      return marks === undefined ? null : waitOf(marks, nowMs);
    },
    giveBack(key, takenAtMs) {
      const marks = marksOf.get(key);
      const index = marks?.times.lastIndexOf(takenAtMs) ?? -1;
      if (marks && index >= marks.head) marks.times.splice(index, 1);
    },
  };
}

function dropUntil(marks: Marks, endMs: number): void {
  while (marks.head < marks.times.length && (marks.times[marks.head] ?? 0) <= endMs) marks.head++;
  if (marks.head < 1024 && marks.head < marks.times.length) return;
  marks.times.splice(0, marks.head);
  marks.head = 0;
}

/** Retry-After in whole seconds, at least one. */
export function secondsUntil(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
