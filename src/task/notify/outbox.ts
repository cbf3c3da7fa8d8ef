import { BoundedMap } from "../../bounded-map.ts";
import { pause } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { NewOutgoingCall, OutgoingCall, OutgoingCallKeeper } from "../../model/outgoing-call.ts";
import { laneOf } from "./commit-status.ts";
import { type AttemptOptions, type AttemptResult, attemptCall } from "./outgoing-attempt.ts";

export interface OutboxOptions extends AttemptOptions {
  calls: OutgoingCallKeeper;
  /** The database's time, which is the same for all instances. */
  now(): Date;
  log: Log;
  counted(kind: string, result: "delivered" | "failed"): void;
  /** Records the result of an attempt, for the project's managers. Never throws. */
  record(call: NewOutgoingCall, attempt: number, result: AttemptResult): Promise<void>;
  retryAfterMs?: number[];
}

/** Delays before the second and later attempts. */
const defaultRetryAfterMs = [5_000, 30_000, 120_000, 600_000];
/**
 * Limit of waiting calls of all instances, and of first attempts of this one. Beyond it, the project with the most
 * calls loses one.
 */
const maxCalls = 1000;
const maxCallsPerTarget = 100;
/** A claimed call belongs to one instance for this long: longer than any attempt takes. */
const holdMs = 60_000;
/** Old notifications are useless: a server that was off for long drops them. */
const maxAgeMs = 24 * 3_600_000;
/** Delays before a call that could not be stored is stored again. */
const storeAfterMs = [500, 1_000, 2_000, 4_000, 8_000];
const maxRetriesAtOnce = 50;
/** Concurrent retries per project, so that slow addresses of one project do not delay others. */
const maxRetriesPerProject = 10;
/** Calls of an instance that died become due without a wake-up. */
const lookEveryMs = 15_000;
const shortestLookMs = 50;

/**
 * Calls to other services, each repeated until it is accepted. A call is stored before its first attempt, so that a
 * restart loses none; after a crash during an attempt it is sent twice.
 */
export function buildOutbox(options: OutboxOptions) {
  const { calls, log } = options;
  const retryAfterMs = options.retryAfterMs ?? defaultRetryAfterMs;
  const newest = new Map<string, NewOutgoingCall>();
  /**
   * First attempts to one address are sequential, so that events arrive in order. All attempts of one subject are
   * sequential: an older state must never arrive after a newer one.
   */
  const lanes = new Map<string, Promise<void>>();
  const firstTries = new Set<Promise<void>>();
  const retries = new Set<Promise<void>>();
  const firstTriesOf = new Map<number, number>();
  const retriesOf = new Map<number, number>();
  /** Calls that replaced an older call, which another instance may be sending at the same time. */
  const unsure = new Set<number>();
  /**
   * Number of attempts of waiting calls with a subject that this instance has tried. Bounded, because calls that another
   * instance finishes are not removed here.
   */
  const triedHere = new BoundedMap<number, number>(maxCalls);
  const closing = new AbortController();
  let rouse = new AbortController();
  let looking = Promise.resolve();

  /** Stores a call that this instance holds; null if the database is not reachable. */
  async function remember(call: NewOutgoingCall): Promise<OutgoingCall | "too many" | null> {
    try {
      const createdAt = options.now();
      const held = { ...call, attempts: 1, nextTryAt: after(createdAt, holdMs), createdAt };
      const limits = { total: maxCalls, perTarget: maxCallsPerTarget };
      const { id, dropped, replaced } = await calls.add(held, limits);
      if (dropped !== null) drop(dropped);
      if (id === null) return "too many";
      if (replaced.some((older) => triedHere.get(older.id) !== older.attempts)) unsure.add(id);
      for (const older of replaced) triedHere.delete(older.id);
      if (call.subject !== null) triedHere.set(id, 1);
      return { ...held, id };
    } catch (error) {
      const reason = "an outgoing call could not be stored";
      log.warn({ kind: call.kind, error: messageOf(error) }, reason);
      return null;
    }
  }

  async function firstTry(
    call: NewOutgoingCall,
    stored: OutgoingCall | "too many" | null,
    sentAt: number,
  ): Promise<void> {
    if (stored === "too many") return drop(call);
    // A newer call of its subject has replaced it, also in the store.
    if (call.subject !== null && newest.get(call.subject) !== call) return;
    if (stored === null) return tryUnstored(call);
    if (closing.signal.aborted) return void (await calls.putOff(stored, stored.createdAt));
    // It may have waited behind slow calls until its claim expired: the instance that claimed it meanwhile sends it.
    const mayBeTaken = performance.now() - sentAt > holdMs / 2;
    if (mayBeTaken && !(await calls.putOff(stored, after(options.now(), holdMs)))) return;
    await tryStored(stored);
  }

  /** Tried at once. If it is not accepted, it waits in memory until the database can store it. */
  async function tryUnstored(call: NewOutgoingCall): Promise<void> {
    const result = await attemptCall(call, options);
    if (result.isDelivered) options.counted(call.kind, "delivered");
    else if (result.isFinal || !(await storedLater(call))) giveUp(call, result.fault);
    await options.record(call, 1, result);
  }

  /** Stores a call for another attempt. False: the database stays away, or the server ends. */
  async function storedLater(call: NewOutgoingCall): Promise<boolean> {
    for (const waitMs of storeAfterMs) {
      await pause(waitMs, closing.signal);
      const stored = closing.signal.aborted ? null : await remember(call);
      if (stored === "too many") return false;
      if (stored === null) continue;
      await calls.putOff(stored, options.now());
      rouse.abort();
      return true;
    }
    return false;
  }

  async function tryStored(call: OutgoingCall): Promise<void> {
    const result = await attemptCall(call, options);
    // Recorded last: after a crash before the end of the call is stored, the call is repeated.
    await settle(call, result);
    await options.record(call, call.attempts, result);
  }

  async function settle(call: OutgoingCall, result: AttemptResult): Promise<void> {
    if (result.isDelivered) {
      options.counted(call.kind, "delivered");
      // Sent again when every other attempt must have ended, so that the newest state arrives last.
      triedHere.delete(call.id);
      if (unsure.delete(call.id)) return void (await calls.putOff(call, after(options.now(), holdMs)));
      return calls.delete(call.id);
    }
    const waitMs = result.isFinal ? undefined : retryAfterMs[call.attempts - 1];
    if (waitMs === undefined) {
      giveUp(call, result.fault);
      unsure.delete(call.id);
      triedHere.delete(call.id);
      return calls.delete(call.id);
    }
    const about = { kind: call.kind, host: hostOf(call.url), fault: result.fault, nextTryInMs: waitMs };
    log.debug(about, "an outgoing call was not taken");
    await calls.putOff(call, after(options.now(), waitMs));
    rouse.abort();
  }

  function giveUp(call: NewOutgoingCall, fault: string): void {
    options.counted(call.kind, "failed");
    log.warn({ kind: call.kind, host: hostOf(call.url), fault }, "an outgoing call was given up");
  }

  function drop(call: NewOutgoingCall): void {
    options.counted(call.kind, "failed");
    const about = { kind: call.kind, projectId: call.projectId, host: hostOf(call.url) };
    log.warn(about, "too many outgoing calls of this project wait; one was dropped");
  }

  async function takeDue(): Promise<void> {
    const now = options.now();
    const busy = [...retriesOf].filter(([, running]) => running >= maxRetriesPerProject).map(([id]) => id);
    const share = { perProject: maxRetriesPerProject, except: busy };
    const due = await calls.takeDue(now, after(now, holdMs), maxRetriesAtOnce - retries.size, share);
    for (const call of due) {
      const isOld = now.getTime() - call.createdAt.getTime() > maxAgeMs;
      if (isOld) giveUp(call, "it has waited for more than a day");
      const release = counting(retriesOf, call.projectId);
      track(retries, isOld ? calls.delete(call.id) : retry(call)).finally(release);
    }
  }

  async function retry(call: OutgoingCall): Promise<void> {
    if (call.subject === null) return tryStored(call);
    triedHere.set(call.id, call.attempts);
    await inLane(laneOf(call), async () => {
      // A newer call of its subject may have replaced it while it waited.
      if (await calls.putOff(call, after(options.now(), holdMs))) await tryStored(call);
    });
  }

  function inLane(lane: string, work: () => Promise<void>): Promise<void> {
    const turn = lanes.get(lane) ?? Promise.resolve();
    const done = turn.then(work).finally(() => {
      if (lanes.get(lane) === ended) lanes.delete(lane);
    });
    // The next call proceeds even if this one failed.
    const ended = done.catch(() => {});
    lanes.set(lane, ended);
    return done;
  }

  async function look(): Promise<void> {
    while (!closing.signal.aborted) {
      rouse = new AbortController();
      let waitMs = lookEveryMs;
      try {
        if (retries.size < maxRetriesAtOnce) await takeDue();
        const next = await calls.nextDue();
        if (next) waitMs = Math.min(next.getTime() - options.now().getTime(), lookEveryMs);
      } catch (error) {
        log.debug({ error: messageOf(error) }, "outgoing calls could not be looked at");
      }
      await pause(Math.max(waitMs, shortestLookMs), AbortSignal.any([closing.signal, rouse.signal]));
    }
  }

  function track(set: Set<Promise<void>>, work: Promise<void>): Promise<void> {
    // A call whose end could not be stored becomes due again.
    const done = work
      .catch((error: unknown) => log.warn({ error: messageOf(error) }, "an outgoing call may be made twice"))
      .finally(() => set.delete(done));
    set.add(done);
    return done;
  }

  return {
    send(call: NewOutgoingCall) {
      const mine = firstTriesOf.get(call.projectId) ?? 0;
      if (firstTries.size >= maxCalls && mine >= maxCalls / Math.max(firstTriesOf.size, 1)) return drop(call);
      if (call.subject !== null) newest.set(call.subject, call);
      const release = counting(firstTriesOf, call.projectId);
      const remembering = remember(call);
      const sentAt = performance.now();
      const done = inLane(laneOf(call), async () => firstTry(call, await remembering, sentAt));
      void track(firstTries, done).finally(() => {
        release();
        if (call.subject !== null && newest.get(call.subject) === call) newest.delete(call.subject);
      });
    },
    /** Starts to send waiting calls, including those of an earlier server. */
    start(): void {
      looking = look();
    },
    /** Attempts in progress end within `ms`; waiting calls stay for the next start. */
    async close(ms: number): Promise<void> {
      closing.abort();
      const timeUp = new AbortController();
      const all = Promise.all([looking, ...firstTries, ...retries]);
      await Promise.race([all, pause(ms, timeUp.signal)]);
      timeUp.abort();
    },
  };
}
export type Outbox = ReturnType<typeof buildOutbox>;

function after(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}

function hostOf(url: string): string {
  return new URL(url).host;
}

/** Counts one more call of the project until the returned function is called. */
function counting(counts: Map<number, number>, projectId: number): () => void {
  counts.set(projectId, (counts.get(projectId) ?? 0) + 1);
  return () => {
    const left = (counts.get(projectId) ?? 1) - 1;
    if (left > 0) counts.set(projectId, left);
    else counts.delete(projectId);
  };
}
