/** Times, durations and sizes as people read them. Pure: the moment of reading is an argument. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** `just now`, `4 min ago`, `3 h ago`, `2 days ago`; `in 20 s` for the near future. */
export function relativeText(iso: string, nowMs: number): string {
  const agoMs = nowMs - Date.parse(iso);
  if (agoMs < -1500) return `in ${durationText(-agoMs)}`;
  if (agoMs < 10_000) return "just now";
  if (agoMs < minuteMs) return `${Math.floor(agoMs / 1000)} s ago`;
  if (agoMs < hourMs) return `${Math.floor(agoMs / minuteMs)} min ago`;
  if (agoMs < dayMs) return `${Math.floor(agoMs / hourMs)} h ago`;
  const days = Math.floor(agoMs / dayMs);
  return days === 1 ? "yesterday" : `${days} days ago`;
}

/** `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`. */
export function durationText(ms: number): string {
  if (ms < 0) return "0 s";
  if (ms < 9950) return `${(Math.round(ms / 100) / 10).toString()} s`;
  if (ms < minuteMs) return `${Math.round(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  if (ms < hourMs) return joined(Math.floor(seconds / 60), "min", seconds % 60, "s");
  return joined(Math.floor(seconds / 3600), "h", Math.floor((seconds % 3600) / 60), "min");
}

function joined(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** Local date and time to the second, for titles of relative times. */
export function exactText(iso: string): string {
  return new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

/** `refs/heads/main` → `main`. */
export function shortRef(ref: string): string {
  return ref.replace(/^refs\/(heads|tags)\//, "");
}

export function shortCommit(commit: string | null): string {
  return commit === null ? "" : commit.slice(0, 8);
}
