import { readdirSync, readFileSync } from "node:fs";

/** A connection to a Git host is given up after this time, and a transfer after this time without any data. */
export const connectLimitMs = 15_000;
export const silenceLimitMs = 30_000;

const lookEveryMs = 1000;
/** In ticks of 10 ms. Git's own loop around a silent connection uses less in half a minute. */
const workingTicks = 20;

/**
 * Calls `onSilent` if a git command and its helpers do nothing for `silenceLimitMs`: no byte is read or written, no processor
 * and no disk is used. Git itself limits neither a TLS handshake nor the silence of a program behind ssh. Looks are counted
 * instead of time, so that a machine that was suspended finds no silence.
 */
export function watchSilence(pid: number, onSilent: () => void): () => void {
  let seen = activityOf(pid);
  let silentLooks = 0;
  const timer = setInterval(() => {
    const now = activityOf(pid);
    const isWorking = now.waitsForDisk || now.bytes !== seen.bytes || now.ticks - seen.ticks > workingTicks;
    silentLooks = isWorking ? 0 : silentLooks + 1;
    if (isWorking) seen = now;
    if (silentLooks < silenceLimitMs / lookEveryMs) return;
    clearInterval(timer);
    onSilent();
  }, lookEveryMs);
  return () => clearInterval(timer);
}

interface Activity {
  bytes: number;
  ticks: number;
  /** A process waits for a disk. */
  waitsForDisk: boolean;
}

/** Of a process and its descendants. One that has ended meanwhile is left out: that is a change too. */
function activityOf(pid: number): Activity {
  const sum: Activity = { bytes: 0, ticks: 0, waitsForDisk: false };
  for (const each of withDescendants(pid)) {
    // After the name of the program, which may contain spaces.
    const [state, ...fields] = (textOf(`/proc/${each}/stat`).split(") ")[1] ?? "").split(" ");
    if (state === "D") sum.waitsForDisk = true;
    sum.ticks += Number(fields[10] ?? 0) + Number(fields[11] ?? 0);
    for (const [, bytes] of textOf(`/proc/${each}/io`).matchAll(/^[rw]char: (\d+)/gm))
      sum.bytes += Number(bytes);
  }
  return sum;
}

function withDescendants(pid: number): number[] {
  const threads = namesIn(`/proc/${pid}/task`);
  const children = threads.flatMap((thread) =>
    textOf(`/proc/${pid}/task/${thread}/children`)
      .split(" ")
      .filter((id) => id !== "")
      .map(Number),
  );
  return [pid, ...children.flatMap(withDescendants)];
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
