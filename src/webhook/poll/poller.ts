import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { PollState } from "../../model/ref-tip.ts";
import { newReason, type Reason, renderReason } from "../../reason/reason.ts";
import { finishPoll, type TakenPoll, takePolls } from "./poll-operations.ts";
import { type PollOptions, pollProject } from "./poll-project.ts";

/** Asks the Git hosts for pushes that no delivery has reported: at start, then at an interval. */
export interface Poller {
  start(): Promise<void>;
  /** Polls a project at once: its credential has changed. */
  pollNow(projectId: number): Promise<void>;
  /** Null: the project is not polled. */
  stateOf(projectId: number): Promise<PollState | null>;
  close(): Promise<void>;
}

export interface PollerOptions extends PollOptions {
  /** 0: nothing is polled. */
  everyMinutes: number;
  log: Logger;
  lockWaitMs: number;
}

/** Projects that one server polls at a time; each runs one git command at a time. */
const maxParallel = 3;
/** Of these, projects whose last poll failed. A host that hangs delays each poll by a minute, but not those of other hosts. */
const maxParallelFailed = 1;
/** The hold of a killed server ends soon, so that another server can poll the project; a poll that runs extends its hold. */
const holdMs = 15_000;
const extendEveryMs = 5_000;
const longestPauseMs = 30_000;
const shortestPauseMs = 200;

interface RunningPoll extends TakenPoll {
  /** Ends it without a result. */
  cancel(): void;
}

export function buildPoller(options: PollerOptions): Poller {
  const { store, log, everyMinutes } = options;
  const everyMs = everyMinutes * 60_000;
  const closing = new AbortController();
  const running = new Map<Promise<void>, RunningPoll>();
  /** Errors that were logged, so that a host that is unreachable for days is logged once. */
  const logged = new Map<number, string>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let taking: Promise<void> | null = null;
  /** Whether polls that became due have not been taken yet. */
  let isWanted = false;

  async function take(): Promise<void> {
    isWanted = false;
    const limit = maxParallel - running.size;
    if (limit <= 0 || closing.signal.aborted) return;
    const failed = [...running.values()].filter(({ hasFailed }) => hasFailed).length;
    const failedLimit = Math.max(0, maxParallelFailed - failed);
    // A holder for each take: a poll whose hold was released stores nothing, even if the next poll runs on the same server.
    const holder = crypto.randomUUID();
    const request = { holder, holdMs, everyMs, limit, failedLimit };
    const lock = { name: "polls", waitMs: options.lockWaitMs };
    const taken = await store.run(takePolls, request, lock);
    if (taken === "timeout") return;
    for (const entry of taken) {
      const canceling = new AbortController();
      const stop = AbortSignal.any([closing.signal, canceling.signal]);
      const poll: Promise<void> = pollOne(entry.projectId, holder, stop).finally(() => {
        running.delete(poll);
        look();
      });
      running.set(poll, { ...entry, cancel: () => canceling.abort() });
    }
  }

  function look(): void {
    if (closing.signal.aborted) return;
    isWanted = true;
    taking ??= take()
      .catch((error: unknown) => log.warn({ error: messageOf(error) }, "repositories could not be polled"))
      .finally(() => {
        taking = null;
        if (isWanted) look();
      });
  }

  async function pollOne(projectId: number, holder: string, stop: AbortSignal): Promise<void> {
    const nothing = { found: [], basis: null, note: "" };
    // A hold that cannot be extended ends the poll before its next git command.
    const extending = setInterval(() => void extend().catch(() => undefined), extendEveryMs);
    const found = await pollProject({ projectId, stop, extend }, options).catch((error: unknown) => ({
      ...nothing,
      error: newReason("poll_failed", { why: messageOf(error).slice(0, 300) }) as Reason,
    }));
    clearInterval(extending);
    const isDone = !stop.aborted;
    const error = isDone ? (found?.error ?? "") : "";
    try {
      const lock = { name: `webhook ${projectId}`, waitMs: options.lockWaitMs };
      const result = { projectId, holder, everyMs, ...nothing, ...found, error, isDone };
      const stored = await store.run(finishPoll, result, lock);
      if (stored === "timeout") log.debug({ projectId }, "the result of a poll was not stored");
      if (isDone && stored === true) report(projectId, renderReason(error));
    } catch (problem) {
      log.warn({ projectId, error: messageOf(problem) }, "the result of a poll could not be stored");
    }

    async function extend(): Promise<void> {
      const until = new Date(store.now().getTime() + holdMs);
      if (!(await store.polls.extend(projectId, holder, until)))
        throw new Error("another server polls the project, or its webhook was disabled");
    }
  }

  function report(projectId: number, error: string): void {
    const before = logged.get(projectId) ?? "";
    if (error === before) return;
    if (error === "") {
      logged.delete(projectId);
      log.info({ projectId }, "the repository can be polled again");
    } else {
      logged.set(projectId, error);
      log.warn({ projectId, error }, "a repository could not be polled");
    }
  }

  return {
    async start() {
      // A killed server has left credentials and clones here.
      rmSync(options.temp, { recursive: true, force: true });
      // Also without polls: deliveries ask the hosts for files.
      mkdirSync(options.temp, { recursive: true, mode: 0o700 });
      mkdirSync(dirname(options.knownHosts), { recursive: true, mode: 0o700 });
      if (everyMs === 0) return store.polls.forget(null);
      await store.polls.makeDue(store.now(), !store.isShared);
      look();
      timer = setInterval(look, Math.min(longestPauseMs, Math.max(shortestPauseMs, everyMs / 4)));
    },
    async pollNow(projectId) {
      if (everyMs === 0) return;
      // A poll with the earlier credential loses its hold: whatever it is doing, on whichever server, its result is not stored.
      await store.polls.renew(projectId, store.now());
      for (const poll of running.values()) if (poll.projectId === projectId) poll.cancel();
      look();
    },
    async stateOf(projectId) {
      if (everyMs === 0) return null;
      const poll = await store.polls.ofProject(projectId);
      if (poll === null) return { everyMinutes, lastAt: null, nextAt: null, error: "", note: "" };
      const { lastAt, nextAt, error, note } = poll;
      return { everyMinutes, lastAt, nextAt, error, note };
    },
    async close() {
      closing.abort();
      clearInterval(timer);
      await taking;
      await Promise.all(running.keys());
      rmSync(options.temp, { recursive: true, force: true });
    },
  };
}
