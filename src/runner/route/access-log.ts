import { appendFileSync, rmSync, statSync, truncateSync } from "node:fs";
import type { RequestFigures } from "../../model/service/route.ts";
import { openFileTail } from "./file-tail.ts";

const minuteMs = 60_000;
/** A line is written when its request has been answered, and read a little later. */
const lateMs = 5000;
/** Durations that are kept of one minute; of more, every other one. */
const durationsMax = 10_000;

/** Minutes of one service that wait for the server. */
const minutesMax = 60;

interface Minute {
  from: number;
  counts: Record<"success" | "redirect" | "clientError" | "serverError", number>;
  count: number;
  durations: number[];
}

/** A log that its proxy does not bound itself is emptied at this size. */
const maxBytes = 20 * 1024 * 1024;

/**
 * Counts the requests of each service by minutes, from the proxy's access log. `reopen`: lets a proxy that does not bound its log
 * begin a new file.
 */
export function openAccessLog(file: string, reopen?: () => void) {
  const tail = openFileTail(file, "end");
  /** By service, oldest first. */
  const minutes = new Map<string, Minute[]>();

  function add(service: string, at: number, status: number, durationMs: number): void {
    const list = minutes.get(service) ?? [];
    minutes.set(service, list);
    const from = Math.floor(at / minuteMs) * minuteMs;
    let minute = list.find((each) => each.from === from);
    if (minute === undefined) {
      minute = {
        from,
        count: 0,
        counts: { success: 0, redirect: 0, clientError: 0, serverError: 0 },
        durations: [],
      };
      list.push(minute);
      if (list.length > minutesMax) list.shift();
    }
    minute.count += 1;
    // A WebSocket: its duration says nothing of the service.
    if (status < 200) return;
    minute.counts[kindOf(status)] += 1;
    minute.durations.push(durationMs);
    if (minute.durations.length > durationsMax)
      minute.durations = minute.durations.filter((_, index) => index % 2 === 0);
  }

  function read(): void {
    for (const line of tail.lines()) {
      const entry = parse(line);
      if (entry !== null) add(entry.service, entry.ts * 1000, entry.status, entry.duration * 1000);
    }
    if (reopen !== undefined && (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > maxBytes)
      bound(reopen);
  }

  /** The proxy appends: it goes on at the beginning of a file that was emptied. */
  function bound(reopenLog: () => void): void {
    try {
      truncateSync(file);
      tail.emptied();
    } catch {
      // Who rotates the logs of nginx gives them to its user.
      rmSync(file, { force: true });
      appendFileSync(file, "", { mode: 0o644 });
      reopenLog();
    }
  }

  return {
    read,
    /** The figures of the oldest finished minute of a service that was not sent; null: there is none. */
    unsent(service: string, now = Date.now()): RequestFigures | null {
      const first = minutes.get(service)?.find(({ from }) => from + minuteMs + lateMs <= now);
      if (first === undefined) return null;
      const sorted = first.durations.toSorted((one, other) => one - other);
      const at = (share: number) => Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 100) / 100;
      return {
        from: new Date(first.from).toISOString(),
        to: new Date(first.from + minuteMs).toISOString(),
        count: first.count,
        ...first.counts,
        p50Ms: at(0.5),
        p95Ms: at(0.95),
      };
    },
    sent(service: string, { from }: RequestFigures): void {
      const left = (minutes.get(service) ?? []).filter((each) => each.from !== Date.parse(from));
      if (left.length === 0) minutes.delete(service);
      else minutes.set(service, left);
    },
  };
}

function kindOf(status: number): keyof Minute["counts"] {
  if (status >= 500) return "serverError";
  if (status >= 400) return "clientError";
  return status >= 300 ? "redirect" : "success";
}

/** Null: a line without a service, such as one of an unknown domain. */
function parse(line: string): { service: string; ts: number; status: number; duration: number } | null {
  try {
    const { service, ts, status, duration } = JSON.parse(line) as Record<string, unknown>;
    if (typeof service !== "string" || typeof ts !== "number") return null;
    return { service, ts, status: Number(status), duration: Number(duration) };
  } catch {
    return null;
  }
}
