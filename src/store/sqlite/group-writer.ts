import { Fault, messageOf } from "../../errors.ts";
import type { QueryAnswer } from "../query/kysely-dialect.ts";
import type { MadeUnit } from "../query/scope.ts";
import { failedSync, type UnitOutcome } from "./sqlite-thread.ts";
import { runWorkGroup, type Work, type WorkGroupOptions } from "./work-group.ts";

/** Units that wait for the writer; more than this means that the disk no longer keeps up. */
const maxWaiting = 10_000;
const maxUnitsPerGroup = 512;
/** While one group is written, the next ones are already with the thread, and answers wait for the loop. */
const maxGroupsSent = 4;
/** So many are worth a group before the turn of the loop is over: the thread need not wait for the loop to be done. */
const eagerUnits = 32;

interface Settle {
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}
interface MadeEntry extends Settle {
  made: MadeUnit;
}
interface WorkEntry extends Settle {
  work: Work;
}
type Entry = MadeEntry | WorkEntry;
type Outcome = { entry: Entry; value: unknown } | { entry: Entry; error: unknown };

export interface GroupWriterOptions extends WorkGroupOptions {
  /** Writes made units in one transaction on the writing thread, durably. */
  write: (units: MadeUnit[]) => Promise<UnitOutcome[]>;
  /** Waits until all that was committed on `connection` is on disk. */
  sync: () => Promise<void>;
  /** A group of work is committed: readers see it from now on. */
  onCommit: (written: MadeUnit[]) => void;
}

export interface GroupWriter {
  /** Writes queries whose texts and values are made, in order; has answered once they are durable. */
  write(unit: MadeUnit): Promise<QueryAnswer[]>;
  /** Runs `work` on the writing connection, in order; has answered once it is durable. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Throws when nothing can be written any more. */
  check(): void;
  /** Refuses new units and waits for what is in hand. */
  close(): Promise<void>;
}

/**
 * One writer for all, in order of arrival. Units that wait together are written in one transaction with one sync: made
 * ones on a thread of their own, work here, because it reads between its writes. There is never more than one
 * transaction that writes.
 */
export function buildGroupWriter(options: GroupWriterOptions): GroupWriter {
  const waiting: Entry[] = [];
  const sent = new Set<Promise<void>>();
  let unsynced: Outcome[] = [];
  let isWorking = false;
  let isPumping = false;
  let syncing: Promise<void> | null = null;
  let broken: Fault | null = null;
  let isClosed = false;
  let idle: (() => void) | null = null;

  /** Starts what can start now; called again whenever something ended. */
  function pump(): void {
    if (broken !== null) refuse(waiting.splice(0), broken);
    for (let first = waiting[0]; first !== undefined && !isWorking; first = waiting[0]) {
      if ("made" in first) {
        if (sent.size === maxGroupsSent) return;
        sendMade();
      } else {
        if (sent.size > 0) return;
        void runWork();
      }
    }
    if (isIdle()) idle?.();
  }

  /** Lets this turn of the loop hand in all its units first: they then share one commit. */
  function pumpAfterTurn(): void {
    if (isPumping) return;
    isPumping = true;
    setImmediate(() => {
      isPumping = false;
      pump();
    });
  }

  const isIdle = () => waiting.length === 0 && !isWorking && sent.size === 0 && syncing === null;

  function sendMade(): void {
    const entries = takeMade();
    const group = options.write(entries.map(({ made }) => made)).then(
      (outcomes) => {
        options.onCommit(entries.map(({ made }) => made));
        // A sync that failed meanwhile may have lost what this group stands on.
        if (broken !== null) refuse(entries, broken);
        else for (const [index, entry] of entries.entries()) settleMade(entry, outcomes[index]);
      },
      (error: unknown) => refuse(entries, error),
    );
    sent.add(group);
    void group.finally(() => {
      sent.delete(group);
      pump();
    });
  }

  function takeMade(): MadeEntry[] {
    const entries: MadeEntry[] = [];
    for (const entry of waiting) {
      if (!("made" in entry) || entries.length === maxUnitsPerGroup) break;
      entries.push(entry);
    }
    waiting.splice(0, entries.length);
    return entries;
  }

  async function runWork(): Promise<void> {
    isWorking = true;
    const begun: WorkEntry[] = [];
    const next = () => {
      const [entry] = waiting;
      if (entry === undefined || !("work" in entry) || begun.length === maxUnitsPerGroup) return null;
      waiting.shift();
      begun.push(entry);
      return entry.work;
    };
    try {
      const outcomes = await runWorkGroup(options, next);
      options.onCommit([]);
      for (const [index, entry] of begun.entries()) {
        const outcome = outcomes[index];
        if (outcome !== undefined) unsynced.push({ entry, ...outcome });
      }
      void settle();
    } catch (error) {
      refuse(begun.length > 0 ? begun : waiting.splice(0), error);
    }
    isWorking = false;
    pumpAfterTurn();
  }

  async function settle(): Promise<void> {
    if (syncing !== null) return;
    while (unsynced.length > 0) {
      const outcomes = unsynced;
      unsynced = [];
      syncing = options.sync();
      try {
        await syncing;
      } catch (error) {
        breakDown(error);
      }
      syncing = null;
      for (const outcome of outcomes) {
        if (broken !== null) outcome.entry.reject(broken);
        else if ("error" in outcome) outcome.entry.reject(outcome.error);
        else outcome.entry.resolve(outcome.value as never);
      }
    }
    pump();
  }

  function refuse(entries: Entry[], cause: unknown): void {
    if (isFailedSync(cause)) breakDown(cause);
    const fault = new Fault("unavailable", `The database cannot be written: ${messageOf(cause)}`, { cause });
    for (const entry of entries) entry.reject(broken ?? fault);
  }

  /** After a failed sync the kernel may have dropped the pages: only a restart tells what is on disk. */
  function breakDown(cause: unknown): void {
    broken ??= new Fault("unavailable", `The database could not be synced to disk: ${messageOf(cause)}`);
  }

  function check(): void {
    if (broken !== null) throw broken;
    if (isClosed) throw new Fault("unavailable", "The database is closed.");
  }

  function submit<T>(unit: { made: MadeUnit } | { work: Work }): Promise<T> {
    check();
    if (waiting.length >= maxWaiting)
      throw new Fault("unavailable", "Too much waits to be written to the database.", {
        retryAfterSeconds: 1,
      });
    return new Promise<T>((resolve, reject) => {
      waiting.push({ ...unit, resolve, reject });
      if (waiting.length >= eagerUnits) pump();
      else pumpAfterTurn();
    });
  }

  return {
    write: async (made) => submit({ made }),
    run: async (work) => submit({ work }),
    check,
    async close() {
      isClosed = true;
      if (isIdle()) return;
      await new Promise<void>((resolve) => {
        idle = resolve;
      });
    },
  };
}

function settleMade({ resolve, reject }: MadeEntry, outcome: UnitOutcome | undefined): void {
  if (outcome === undefined) reject(new Error("The writing thread answered too little."));
  else if ("error" in outcome) reject(outcome.error);
  else resolve(outcome.answers as never);
}

function isFailedSync(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === failedSync;
}
