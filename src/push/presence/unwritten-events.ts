import type { EventDestination, PresenceReport, ReportedUpTo } from "./presence-record.ts";

/** Above this, events of short stays are left out; if that is not enough, the oldest events. */
const maxUnwritten = 100_000;
/** What is kept then, so that the list is not searched for each event. */
const keptOfFull = 90_000;

/** Other services that read the queue know of users only. */
const wants: Record<EventDestination, (report: Pick<PresenceReport, "channel">) => boolean> = {
  queue: ({ channel }) => channel === "",
  uri: () => true,
};

/** Events that are not known to have reached their destination, in the order of the log. A part of the fold. */
export class UnwrittenEvents {
  readonly #destinations: readonly EventDestination[];
  #reports: PresenceReport[] = [];
  #reportedUpTo: ReportedUpTo = {};
  #leftOut = new Map<EventDestination, number>();

  constructor(destinations: readonly EventDestination[]) {
    this.#destinations = destinations;
  }

  of(to: EventDestination): PresenceReport[] {
    return this.#reports.filter((report) => report.to === to);
  }

  add(report: Omit<PresenceReport, "to">): void {
    for (const to of this.#destinations) if (wants[to](report)) this.#reports.push({ to, ...report });
    if (this.#reports.length > maxUnwritten) this.#leaveOut();
  }

  reported(to: EventDestination, upTo: number): void {
    const reportedUpTo = Math.max(this.#reportedUpTo[to] ?? -1, upTo);
    this.#reportedUpTo[to] = reportedUpTo;
    this.#reports = this.#reports.filter((report) => report.to !== to || report.offset > reportedUpTo);
  }

  takeLeftOut(): Map<EventDestination, number> {
    const leftOut = this.#leftOut;
    if (leftOut.size > 0) this.#leftOut = new Map();
    return leftOut;
  }

  snapshot(): { unwritten: PresenceReport[]; reportedUpTo: ReportedUpTo } {
    return { unwritten: [...this.#reports], reportedUpTo: { ...this.#reportedUpTo } };
  }

  /** A destination that is no longer set is forgotten. */
  restore(unwritten: readonly PresenceReport[], reportedUpTo: ReportedUpTo): void {
    this.#reports = unwritten.filter(({ to }) => this.#destinations.includes(to));
    this.#reportedUpTo = { ...reportedUpTo };
  }

  /** The offsets of the log begin anew after this one. */
  beginAgain(offset: number): void {
    this.#reportedUpTo = {};
    this.#reports = this.#reports.map((report) => ({ ...report, offset }));
  }

  #leaveOut(): void {
    const all = this.#reports;
    this.#reports = withoutShortStays(all).slice(-keptOfFull);
    const kept = new Set(this.#reports);
    for (const report of all)
      if (!kept.has(report)) this.#leftOut.set(report.to, (this.#leftOut.get(report.to) ?? 0) + 1);
  }
}

/**
 * Keeps the first event of each name, which may have been written already, and the last one if it is of the other type:
 * the remaining events of a name still alternate, and the last one is true.
 */
function withoutShortStays(reports: PresenceReport[]): PresenceReport[] {
  const keyOf = ({ to, channel, userId }: PresenceReport) => `${to}\n${channel}\n${userId}`;
  const first = new Map<string, PresenceReport>();
  const last = new Map<string, PresenceReport>();
  for (const report of reports) {
    const key = keyOf(report);
    if (!first.has(key)) first.set(key, report);
    last.set(key, report);
  }
  return reports.filter((report) => {
    const key = keyOf(report);
    const earlier = first.get(key);
    return report === earlier || (report === last.get(key) && report.type !== earlier?.type);
  });
}
