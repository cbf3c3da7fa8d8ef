import { BoundedMap } from "../../bounded-map.ts";
import { pause } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type {
  AddedCall,
  CallAddress,
  NewOutgoingCall,
  OutgoingCall,
  OutgoingCallKeeper,
} from "../../model/outgoing-call.ts";
import { type Reason, renderReason } from "../../reason/reason.ts";
import type { SpanEnd, Telemetry } from "../../telemetry/telemetry.ts";
import { traceFields } from "../../telemetry/trace-context.ts";
import { laneOf } from "./commit-status.ts";
import { type AttemptOptions, type AttemptResult, attemptCall } from "./outgoing-attempt.ts";
import { maxCalls } from "./store-calls.ts";

export interface OutboxOptions extends AttemptOptions {
  calls: OutgoingCallKeeper;
  /** The database's time, which is the same for all instances. */
  now(): Date;
  log: Logger;
  telemetry: Telemetry;
  counted(kind: string, result: "delivered" | "failed"): void;
  /** Records the result of an attempt, for the project's managers. Never throws. */
  record(call: NewOutgoingCall, attempt: number, result: AttemptResult): Promise<void>;
  retryAfterMs?: number[];
}

/** Delays before the second and later attempts. */
const defaultRetryAfterMs = [5_000, 30_000, 120_000, 600_000];
/** A claimed call belongs to one instance for this long: longer than any attempt takes. */
const holdMs = 60_000;
/** Old notifications are useless: a server that was off for long drops them. */
const maxAgeMs = 24 * 3_600_000;
/** First attempts of a project that wait here; the others wait in the database only, and are taken when they are due. */
const maxFirstTriesPerProject = 200;
const maxRetriesAtOnce = 50;
/** Concurrent retries per project, so that slow addresses of one project do not delay others. */
const maxRetriesPerProject = 10;
/** Calls of an instance that died become due without a wake-up. */
const lookEveryMs = 15_000;
const shortestLookMs = 50;

/**
 * Calls to other services, each repeated until it is accepted. A call is stored with the change that it reports, so that
 * a crash loses none; after a crash during an attempt it is sent twice.
 */
export function buildOutbox(options: OutboxOptions) {
  const { calls, log } = options;
  const retryAfterMs = options.retryAfterMs ?? defaultRetryAfterMs;
  /**
   * First attempts to one address are sequential, so that events arrive in order. All attempts of one subject are
   * sequential: an older state must never arrive after a newer one.
   */
  const lanes = new Map<string, Promise<void>>();
  const firstTries = new Set<Promise<void>>();
  /** Calls that wait for their first attempt here. After a while they are due, and are claimed again for their turn. */
  const queued = new Map<number, OutgoingCall | null>();
  const retries = new Set<Promise<void>>();
  const firstTriesOf = new Map<number, number>();
  const retriesOf = new Map<number, number>();
  /** Calls that replaced an older call, which another instance may be sending at the same time. */
  const unsure = new BoundedMap<number, true>(maxCalls);
  /**
   * Number of attempts of waiting calls with a subject that this instance has tried. Bounded, because calls that another
   * instance finishes are not removed here.
   */
  const triedHere = new BoundedMap<number, number>(maxCalls);
  const closing = new AbortController();
  let rouse = new AbortController();
  let looking = Promise.resolve();

  /** Notes which older calls the stored call has replaced, and logs those that were dropped for it. */
  function noteAdded({ call, id, dropped, replaced }: AddedCall): void {
    if (dropped !== null) drop(dropped);
    if (id === null) {
      drop(call);
      return;
    }
    const mayOverlap = replaced.some(
      (older) => older.attempts > 0 && triedHere.get(older.id) !== older.attempts,
    );
    if (mayOverlap) unsure.set(id, true);
    for (const older of replaced) triedHere.delete(older.id);
  }

  async function firstTry(id: number): Promise<void> {
    const claimed = queued.get(id) ?? null;
    queued.delete(id);
    if (closing.signal.aborted)
      return void (await calls.putOff(claimed ?? { id, attempts: 0 }, options.now()));
    const until = after(options.now(), holdMs);
    // Otherwise a newer call of its subject has replaced it, or another instance has claimed it while it waited.
    const isOurs = claimed !== null && (await calls.putOff(claimed, until));
    const call = claimed === null ? await calls.takeFirst(id, until) : isOurs ? claimed : null;
    if (call === null) return;
    if (call.subject !== null) triedHere.set(call.id, call.attempts);
    await tryStored(call);
  }

  async function tryStored(call: OutgoingCall): Promise<void> {
    const span = options.telemetry.start(call.traceparent, call.kind, "client");
    const result = await attemptCall({ ...call, traceparent: span?.traceparent ?? null }, options);
    span?.end(attemptEnd(call, result));
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
    const about = {
      kind: call.kind,
      host: hostOf(call.url),
      fault: renderReason(result.fault),
      nextTryInMs: waitMs,
      ...traceFields(call.traceparent),
    };
    log.debug(about, "an outgoing call was not taken");
    await calls.putOff(call, after(options.now(), waitMs));
    rouse.abort();
  }

  function giveUp(call: OutgoingCall, fault: Reason): void {
    options.counted(call.kind, "failed");
    log.warn(
      {
        ...{ kind: call.kind, host: hostOf(call.url), fault: renderReason(fault) },
        ...traceFields(call.traceparent),
      },
      "an outgoing call was given up",
    );
  }

  function drop(call: CallAddress): void {
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
      if (call.attempts === 1 && queued.has(call.id)) {
        queued.set(call.id, call);
        continue;
      }
      const isOld = now.getTime() - call.createdAt.getTime() > maxAgeMs;
      if (isOld) giveUp(call, "it has waited for more than a day");
      const release = counting(retriesOf, call.projectId);
      track(retries, isOld ? calls.delete(call.id) : retry(call)).finally(release);
    }
  }

  async function retry(call: OutgoingCall): Promise<void> {
    if (call.subject === null && call.attempts > 1) return tryStored(call);
    if (call.subject !== null) triedHere.set(call.id, call.attempts);
    // First attempts that a killed server did not make are in order, too, but do not wait behind those of this one.
    const lane = call.subject === null ? `of another server: ${laneOf(call)}` : laneOf(call);
    await inLane(lane, async () => {
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
    /** Makes the first attempt of calls that were stored; their transaction must be on disk. */
    send(added: readonly AddedCall[]): void {
      for (const each of added) {
        noteAdded(each);
        const { id, call } = each;
        if (id === null || (firstTriesOf.get(call.projectId) ?? 0) >= maxFirstTriesPerProject) continue;
        queued.set(id, null);
        const release = counting(firstTriesOf, call.projectId);
        void track(
          firstTries,
          inLane(laneOf(call), () => firstTry(id)),
        ).finally(release);
      }
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

function attemptEnd(call: OutgoingCall, { isDelivered, status, fault }: AttemptResult): SpanEnd {
  return {
    attributes: {
      "slipway.event": call.event,
      "slipway.project.id": call.projectId,
      "slipway.attempt": call.attempts,
      "server.address": hostOf(call.url),
      ...(status === null ? {} : { "http.response.status_code": status }),
    },
    ...(isDelivered ? {} : { fault: renderReason(fault) }),
  };
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
