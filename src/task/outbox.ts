import { pause } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import { ForbiddenAddress, type GuardedRequest } from "./guarded-request.ts";

/** One outgoing call, tried until it is taken. */
export interface OutgoingCall extends GuardedRequest {
  /** A later call of the same subject replaces this one while it waits: the newest state is the true one. */
  subject: string | null;
  /** For logs and metrics: "notification" or "commit status". */
  kind: string;
}

export interface Outbox {
  send(call: OutgoingCall): void;
  /** What waits for another try gets its last one now; resolves after at most `ms`. */
  close(ms: number): Promise<void>;
}

export interface OutboxOptions {
  post(request: GuardedRequest): Promise<number>;
  log: Log;
  counted(kind: string, result: "delivered" | "failed"): void;
  retryAfterMs?: number[];
}

/** Waits before the second and later tries. */
const defaultRetryAfterMs = [5_000, 30_000, 120_000, 600_000];
/** Calls under way or waiting; above it new ones are refused, counted and logged. */
const maxCalls = 1000;

export function buildOutbox(options: OutboxOptions): Outbox {
  const retryAfterMs = options.retryAfterMs ?? defaultRetryAfterMs;
  const newest = new Map<string, OutgoingCall>();
  /** First tries to one address go one after the other, so that what happened first is told first. */
  const lanes = new Map<string, Promise<void>>();
  const calls = new Set<Promise<void>>();
  const closing = new AbortController();

  async function deliver(call: OutgoingCall, turn: Promise<void>, hasTried: () => void): Promise<void> {
    let fault = "";
    await turn;
    for (let attempt = 0; attempt <= retryAfterMs.length; attempt += 1) {
      if (attempt > 0) await pause(retryAfterMs[attempt - 1] ?? 0, closing.signal);
      if (call.subject !== null && newest.get(call.subject) !== call) return;
      try {
        const status = await options.post(call).finally(hasTried);
        if (status >= 200 && status < 300) return options.counted(call.kind, "delivered");
        fault = `status ${status}`;
        if (isFinal(status)) break;
      } catch (error) {
        fault = messageOf(error);
        if (error instanceof ForbiddenAddress) break;
      }
      options.log.debug({ kind: call.kind, host: hostOf(call.url), fault }, "an outgoing call was not taken");
      if (closing.signal.aborted) break;
    }
    options.counted(call.kind, "failed");
    options.log.warn({ kind: call.kind, host: hostOf(call.url), fault }, "an outgoing call was given up");
  }

  return {
    send(call) {
      if (calls.size >= maxCalls) {
        options.counted(call.kind, "failed");
        options.log.warn({ kind: call.kind }, "too many outgoing calls wait; one was dropped");
        return;
      }
      if (call.subject !== null) newest.set(call.subject, call);
      const tried = Promise.withResolvers<void>();
      const turn = lanes.get(call.url) ?? Promise.resolve();
      lanes.set(call.url, tried.promise);
      const done = deliver(call, turn, tried.resolve).finally(() => {
        calls.delete(done);
        tried.resolve();
        if (lanes.get(call.url) === tried.promise) lanes.delete(call.url);
        if (call.subject !== null && newest.get(call.subject) === call) newest.delete(call.subject);
      });
      calls.add(done);
    },
    async close(ms) {
      closing.abort();
      const timeUp = new AbortController();
      await Promise.race([Promise.all(calls), pause(ms, timeUp.signal)]);
      timeUp.abort();
    },
  };
}

/** A client error will be the same next time, but for "later" and "too many". */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status);
}

function hostOf(url: string): string {
  return new URL(url).host;
}
