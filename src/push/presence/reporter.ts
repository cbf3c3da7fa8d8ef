import { type Clock, pause } from "../../clock.ts";
import type { PresenceEvent } from "../message/message.ts";
import type { ReportLists } from "./presence-note.ts";
import { eventOf, Reports } from "./reports.ts";

export interface ReporterParts {
  /** Whether the user has a normal connection. */
  isOnline: (userId: string) => boolean;
  /** Writes the event for other services; rejects while the queue is not available. */
  publishEvent: (type: PresenceEvent["type"], userId: string, occasion: number) => Promise<void>;
  /** Sends to all instances, including this one. */
  announce: (lists: ReportLists) => Promise<void>;
  /** For the numbers of new reports. */
  clock: Clock;
  steady: Clock;
  graceMs: number;
  /** An announcement that did not come back within this time is sent again. */
  retryMs: number;
}

export const presenceGraceMs = 5_000;
/** How long a stopping instance waits until its last reports are published. */
const endWithinMs = 5_000;
const perAnnouncement = 2_000;
const perChunk = 500;
/** Limit of announced reports that wait until the queue accepts events. */
const maxAnnounced = 100_000;

/**
 * Compares the online users of the cluster with the reports, and reports the differences. Every instance compares; one of
 * them reports.
 */
export class Reporter {
  readonly reports = new Reports();
  readonly #parts: ReporterParts;
  /** When a user without a connection becomes offline; in order of time, because the grace period is the same for all. */
  readonly #leaving = new Map<string, number>();
  /** Users whose last report may be wrong. */
  readonly #open = new Set<string>();
  /** Announcements that have not come back to this instance yet. */
  readonly #sent = new Map<string, { mark: number; untilMs: number }>();
  /** Users whose reports another instance does not know completely. */
  readonly #outdated = new Set<string>();
  /**
   * Users of the last chunk whose publish failed; the queue may have their events. A chunk consists of the oldest reports, so
   * users of an earlier chunk that are still announced are in the last one too.
   */
  #possiblyWritten = new Set<string>();
  #flushing: Promise<void> | null = null;

  constructor(parts: ReporterParts) {
    this.#parts = parts;
  }

  appeared(userId: string): void {
    this.#leaving.delete(userId);
    this.#open.add(userId);
  }

  vanished(userId: string): void {
    this.#leaving.delete(userId);
    this.#leaving.set(userId, this.#parts.steady.now() + this.#parts.graceMs);
    this.#open.add(userId);
  }

  receive({ users, marks, after }: ReportLists, isOwn: boolean): void {
    for (const [at, userId] of users.entries()) {
      const effect = this.reports.receive(userId, marks[at] ?? 0, after[at] ?? 0);
      if (isOwn) this.#sent.delete(userId);
      if (effect === "adopted") this.#review(userId);
      else if (effect === "outdated" && !isOwn) this.#outdated.add(userId);
    }
  }

  settle(highest: number): void {
    for (const userId of this.reports.settle(highest)) this.#review(userId);
  }

  tick(nowMs: number): void {
    for (const [userId, atMs] of this.#leaving) {
      if (atMs > nowMs) break;
      this.#leaving.delete(userId);
      this.#open.add(userId);
    }
    for (const userId of this.#open) if (this.#isSettled(userId)) this.#open.delete(userId);
    if (this.#outdated.size === 0) return;
    const lists = this.reports.listsOf([...this.#outdated].slice(0, perAnnouncement));
    this.#outdated.clear();
    this.#parts.announce(lists).catch(() => {});
  }

  /** Call on the reporting instance: announces missing reports and publishes announced ones. */
  report(): void {
    const { clock, steady, retryMs } = this.#parts;
    const nowMs = steady.now();
    const users: string[] = [];
    const marks: number[] = [];
    for (const userId of this.#open) {
      if (users.length === perAnnouncement) break;
      if (this.reports.isAnnounced(userId) || this.#isSettled(userId)) continue;
      const sent = this.#sent.get(userId);
      if (sent && sent.untilMs > nowMs) continue;
      const mark = this.reports.nextMark(userId, clock.now());
      this.#sent.set(userId, { mark, untilMs: nowMs + retryMs });
      users.push(userId);
      marks.push(mark);
    }
    if (users.length > 0) {
      const after = users.map((userId) => this.reports.markOf(userId));
      this.#parts.announce({ users, marks, after }).catch(() => {
        for (const userId of users) this.#sent.delete(userId);
      });
    }
    this.#skipEndedStays();
    this.flush();
  }

  /** Publishes the announced reports, also those of an instance that may have ended since. */
  flush(): void {
    if (this.reports.announcedCount > 0) this.#flushing ??= this.#publishAnnounced();
  }

  /** An instance of an earlier version reports without announcements: the current state counts as reported. */
  adoptAll(): void {
    const nowMs = this.#parts.clock.now();
    for (const userId of this.#open) {
      if (this.#isSettled(userId)) continue;
      const mark = this.reports.nextMark(userId, nowMs);
      this.reports.receive(userId, mark, mark);
    }
  }

  /** The last instance ends: all users are reported offline, without a grace period. Rejects when the queue refuses. */
  async end(): Promise<void> {
    await this.#flushing;
    await this.#publishAnnounced();
    for (const userId of this.reports.onlineUsers()) this.reports.announceAlone(userId);
    await this.#publishAnnounced();
    if (this.reports.announcedCount > 0) throw new Error("The queue did not accept all reports.");
  }

  /**
   * While the queue accepts no events, every new user would add a report. Beyond the limit, the oldest stays that have ended
   * and of which no event can have been written are not reported. Not while a chunk is being published, because it may
   * contain them.
   */
  #skipEndedStays(): void {
    if (this.#flushing || this.reports.announcedCount <= maxAnnounced) return;
    const users: string[] = [];
    for (const userId of this.reports.announced) {
      if (users.length === perAnnouncement) break;
      if (this.#possiblyWritten.has(userId)) continue;
      const isPresent = this.#parts.isOnline(userId) || this.#leaving.has(userId);
      if (!isPresent && this.reports.isOnline(userId)) users.push(userId);
    }
    if (users.length === 0) return;
    for (const userId of users) this.reports.skipStay(userId);
    this.#parts.announce(this.reports.listsOf(users)).catch(() => {});
  }

  #review(userId: string): void {
    this.#open.add(userId);
    const isGone = !this.#parts.isOnline(userId) && !this.#leaving.has(userId);
    if (isGone && this.reports.isOnline(userId)) this.vanished(userId);
  }

  #isSettled(userId: string): boolean {
    if (this.reports.isAnnounced(userId)) return false;
    const isOnline = this.#parts.isOnline(userId) || this.#leaving.has(userId);
    return isOnline === this.reports.isOnline(userId);
  }

  async #publishAnnounced(): Promise<void> {
    for (let hasFailed = false; !hasFailed && this.reports.announcedCount > 0; ) {
      const users = [...this.reports.announced].slice(0, perChunk);
      const marks = users.map((userId) => this.reports.markOf(userId));
      const results = await Promise.allSettled(
        users.map((userId, at) => this.#publish(userId, marks[at] ?? 0)),
      );
      const published = users.filter((_, at) => results[at]?.status === "fulfilled");
      this.#possiblyWritten = new Set(users.filter((_, at) => results[at]?.status === "rejected"));
      hasFailed = this.#possiblyWritten.size > 0;
      const publishedMarks = marks.filter((_, at) => results[at]?.status === "fulfilled");
      // If this is lost, an instance that takes over publishes the same events again, with the same ids.
      if (published.length > 0)
        this.#parts
          .announce({ users: published, marks: publishedMarks, after: publishedMarks })
          .catch(() => {});
    }
    this.#flushing = null;
  }

  async #publish(userId: string, mark: number): Promise<void> {
    const { type, occasion } = eventOf(mark);
    await this.#parts.publishEvent(type, userId, occasion);
    this.reports.markPublished(userId, mark);
    this.#open.add(userId);
  }
}

/** Waits for `ending`, for a limited time. */
export async function endInTime(ending: Promise<void>, onEventsLost: () => void): Promise<void> {
  const ended = new AbortController();
  const isComplete = await Promise.race([
    ending.then(() => true).catch(() => false),
    pause(endWithinMs, ended.signal).then(() => false),
  ]);
  ended.abort();
  if (!isComplete) onEventsLost();
}
