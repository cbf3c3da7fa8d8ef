import { z } from "zod";
import type { Reason } from "../reason/reason.ts";
import { reasonSchema } from "../reason/schema-forms.ts";

/** The last commit of a ref that a delivery, or a poll, has handled. */
export interface RefTip {
  projectId: number;
  /** Full name. */
  ref: string;
  /** Empty: the delivery named no commit. */
  commit: string;
  /** When its push arrived. */
  pushedAt: Date;
  /** The task of a poll that found the commit before the host reported it; null: there is none, or it was reported. */
  polledTaskId: number | null;
}

/** A tip that a delivery handles. It is written with the record of the delivery. */
export interface HandledTip extends Pick<RefTip, "ref" | "commit" | "pushedAt"> {
  kind: "live" | "poll" | "replay";
}

export interface RefTipKeeper {
  ofProject(projectId: number): Promise<RefTip[]>;
  /** Inserts or replaces. */
  set(projectId: number, tips: readonly Pick<RefTip, "ref" | "commit">[], now: Date): Promise<void>;
  delete(projectId: number, refs: readonly string[]): Promise<void>;
}

/** When a project was polled, and what came of it. */
export interface Poll {
  projectId: number;
  /** The repository whose tips are stored; empty: no poll has succeeded yet. */
  url: string;
  /** The version of the program that stored them. */
  version: string;
  /** Names the filters by which refs were chosen. */
  scope: string;
  heldBy: string | null;
  heldUntil: Date | null;
  lastAt: Date | null;
  nextAt: Date;
  error: Reason;
  note: Reason;
}

/** What people see of the polls of a project. */
export const pollState = z.object({
  everyMinutes: z.number(),
  lastAt: z.date().nullable(),
  nextAt: z.date().nullable().meta({ description: "Null: at once." }),
  error: reasonSchema.meta({ description: "Why the last poll failed; empty: it did not." }),
  note: reasonSchema.meta({ description: "What the last poll left out; usually empty." }),
});
export type PollState = z.infer<typeof pollState>;

export interface PollKeeper {
  ofProject(projectId: number): Promise<Poll | null>;
  /**
   * Projects with an enabled webhook whose poll is due and not held: those whose last poll failed, or the others.
   * `latest`: no poll waits longer than until then.
   */
  due(when: { now: Date; latest: Date }, hasFailed: boolean, limit: number): Promise<number[]>;
  hold(projectId: number, holder: string, now: Date, until: Date): Promise<void>;
  /** False: another server holds the poll now. */
  extend(projectId: number, holder: string, until: Date): Promise<boolean>;
  /** Ends the hold. */
  finish(projectId: number, result: Omit<Poll, "projectId" | "heldBy" | "heldUntil">): Promise<void>;
  /** Makes all polls due. `release`: also those that are held, because no other server uses the database. */
  makeDue(now: Date, release: boolean): Promise<void>;
  /** Makes the poll of a project due, and ends one that is in progress: it began with an outdated credential. */
  renew(projectId: number, now: Date): Promise<void>;
  /** Forgets the tips of the project too, or of all projects if null: the next poll only stores tips. */
  forget(projectId: number | null): Promise<void>;
}
