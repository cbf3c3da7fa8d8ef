/** At most `limit` marks of one key in any span of `windowMs`. Keys are bounded; the one longest unused is forgotten. */
export interface SlidingLimit {
  /** Marks now and answers null, or answers in how many milliseconds the oldest mark leaves. */
  take(key: string | number, nowMs: number): number | null;
  /** Takes the newest mark back, as if it had not happened. */
  giveBack(key: string | number): void;
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

  return {
    take(key, nowMs) {
      const marks = touch(key);
      dropUntil(marks, nowMs - windowMs);
      if (marks.times.length - marks.head < limit) {
        marks.times.push(nowMs);
        return null;
      }
      return (marks.times[marks.head] ?? nowMs) + windowMs - nowMs;
    },
    giveBack(key) {
      const marks = marksOf.get(key);
      if (marks && marks.times.length > marks.head) marks.times.pop();
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
