import { pause } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { NewOutgoingCall, OutgoingCall, OutgoingCallKeeper } from "../model/outgoing-call.ts";
import { type AttemptOptions, attemptCall } from "./outgoing-attempt.ts";

/**
 * Calls to the outside, each tried until it is taken. They are stored before their first try, so that a restart loses
 * none; a crash in the middle of a try makes it twice.
 */
export interface Outbox {
  send(call: NewOutgoingCall): void;
  /** Begins to make what waits, also what an earlier server left. */
  start(): void;
  /** What is under way ends within `ms`; what waits stays for the next start. */
  close(ms: number): Promise<void>;
}

export interface OutboxOptions extends AttemptOptions {
  calls: OutgoingCallKeeper;
  /** The database's time, on which all instances agree. */
  now(): Promise<Date>;
  log: Log;
  counted(kind: string, result: "delivered" | "failed"): void;
  retryAfterMs?: number[];
}

/** Waits before the second and later tries. */
const defaultRetryAfterMs = [5_000, 30_000, 120_000, 600_000];
/** Calls that wait, of all instances, and first tries of this one; above it new ones are dropped, counted and logged. */
const maxCalls = 1000;
/** A call that was taken is one instance's for this long: longer than any try lasts. */
const holdMs = 60_000;
/** News of yesterday help nobody: a server that was off for long gives them up. */
const maxAgeMs = 24 * 3_600_000;
const maxRetriesAtOnce = 50;
/** Calls of an instance that died come due without a word. */
const lookEveryMs = 15_000;
const shortestLookMs = 50;

export function buildOutbox(options: OutboxOptions): Outbox {
  const { calls, log } = options;
  const retryAfterMs = options.retryAfterMs ?? defaultRetryAfterMs;
  const newest = new Map<string, NewOutgoingCall>();
  /** First tries to one address go one after the other, so that what happened first is told first. */
  const lanes = new Map<string, Promise<void>>();
  const firstTries = new Set<Promise<void>>();
  const retries = new Set<Promise<void>>();
  const closing = new AbortController();
  let rouse = new AbortController();
  let looking = Promise.resolve();

  /** Stores a call that this instance holds; null where the database is away. */
  async function remember(call: NewOutgoingCall): Promise<OutgoingCall | "too many" | null> {
    try {
      const createdAt = await options.now();
      const held = { ...call, attempts: 1, nextTryAt: after(createdAt, holdMs), createdAt };
      const id = await calls.add(held, maxCalls);
      return id === null ? "too many" : { ...held, id };
    } catch (error) {
      const reason = "an outgoing call could not be stored and is tried only once";
      log.warn({ kind: call.kind, error: messageOf(error) }, reason);
      return null;
    }
  }

  async function firstTry(call: NewOutgoingCall, turn: Promise<void>): Promise<void> {
    const sentAt = performance.now();
    const remembering = remember(call);
    await turn;
    const stored = await remembering;
    if (stored === "too many") return drop(call);
    // A newer one of its subject has replaced it, in the store too.
    if (call.subject !== null && newest.get(call.subject) !== call) return;
    if (stored === null) return tryOnce(call);
    if (closing.signal.aborted) return void (await calls.putOff(stored, stored.createdAt));
    // Behind slow ones its time may have run out: whoever took it meanwhile makes it.
    const mayBeTaken = performance.now() - sentAt > holdMs / 2;
    if (mayBeTaken && !(await calls.putOff(stored, after(await options.now(), holdMs)))) return;
    await tryStored(stored);
  }

  async function tryOnce(call: NewOutgoingCall): Promise<void> {
    const fault = await attemptCall(call, options);
    if (fault === null) options.counted(call.kind, "delivered");
    else giveUp(call, fault.text);
  }

  async function tryStored(call: OutgoingCall): Promise<void> {
    const fault = await attemptCall(call, options);
    if (fault === null) {
      options.counted(call.kind, "delivered");
      return calls.delete(call.id);
    }
    const waitMs = fault.isFinal ? undefined : retryAfterMs[call.attempts - 1];
    if (waitMs === undefined) {
      giveUp(call, fault.text);
      return calls.delete(call.id);
    }
    const about = { kind: call.kind, host: hostOf(call.url), fault: fault.text, nextTryInMs: waitMs };
    log.debug(about, "an outgoing call was not taken");
    await calls.putOff(call, after(await options.now(), waitMs));
    rouse.abort();
  }

  function giveUp(call: NewOutgoingCall, fault: string): void {
    options.counted(call.kind, "failed");
    log.warn({ kind: call.kind, host: hostOf(call.url), fault }, "an outgoing call was given up");
  }

  function drop(call: NewOutgoingCall): void {
    options.counted(call.kind, "failed");
    log.warn({ kind: call.kind }, "too many outgoing calls wait; one was dropped");
  }

  async function takeDue(): Promise<void> {
    const now = await options.now();
    const due = await calls.takeDue(now, after(now, holdMs), maxRetriesAtOnce - retries.size);
    for (const call of due) {
      const isOld = now.getTime() - call.createdAt.getTime() > maxAgeMs;
      if (isOld) giveUp(call, "it has waited for more than a day");
      track(retries, isOld ? calls.delete(call.id) : tryStored(call));
    }
  }

  async function look(): Promise<void> {
    while (!closing.signal.aborted) {
      rouse = new AbortController();
      let waitMs = lookEveryMs;
      try {
        if (retries.size < maxRetriesAtOnce) await takeDue();
        const next = await calls.nextDue();
        if (next) waitMs = Math.min(next.getTime() - (await options.now()).getTime(), lookEveryMs);
      } catch (error) {
        log.debug({ error: messageOf(error) }, "outgoing calls could not be looked at");
      }
      await pause(Math.max(waitMs, shortestLookMs), AbortSignal.any([closing.signal, rouse.signal]));
    }
  }

  function track(set: Set<Promise<void>>, work: Promise<void>): Promise<void> {
    // A call whose end could not be written comes due again.
    const done = work
      .catch((error: unknown) => log.warn({ error: messageOf(error) }, "an outgoing call may be made twice"))
      .finally(() => set.delete(done));
    set.add(done);
    return done;
  }

  return {
    send(call) {
      if (firstTries.size >= maxCalls) return drop(call);
      if (call.subject !== null) newest.set(call.subject, call);
      const turn = lanes.get(call.url) ?? Promise.resolve();
      const done = track(firstTries, firstTry(call, turn)).finally(() => {
        if (lanes.get(call.url) === done) lanes.delete(call.url);
        if (call.subject !== null && newest.get(call.subject) === call) newest.delete(call.subject);
      });
      lanes.set(call.url, done);
    },
    start() {
      looking = look();
    },
    async close(ms) {
      closing.abort();
      const timeUp = new AbortController();
      const all = Promise.all([looking, ...firstTries, ...retries]);
      await Promise.race([all, pause(ms, timeUp.signal)]);
      timeUp.abort();
    },
  };
}

function after(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}

function hostOf(url: string): string {
  return new URL(url).host;
}
