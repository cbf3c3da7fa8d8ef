import { endInTime, Reporter, type ReporterParts } from "./reporter.ts";

export interface InstancePresenceParts
  extends Pick<ReporterParts, "isOnline" | "publishEvent" | "clock" | "steady" | "graceMs"> {
  onEventsLost: () => void;
}

/** Presence events of a single instance. */
export class InstancePresence {
  readonly #parts: InstancePresenceParts;
  readonly #reporter: Reporter;

  constructor(parts: InstancePresenceParts) {
    this.#parts = parts;
    this.#reporter = new Reporter({
      ...parts,
      announce: async (lists) => this.#reporter.receive(lists, true),
      retryMs: 0,
    });
  }

  opened(userId: string): void {
    this.#reporter.appeared(userId);
  }

  closed(userId: string): void {
    if (!this.#parts.isOnline(userId)) this.#reporter.vanished(userId);
  }

  tick(nowMs: number): void {
    this.#reporter.tick(nowMs);
    this.#reporter.report();
  }

  /** Reports all users offline, because no other instance would. */
  async leave(): Promise<void> {
    await endInTime(this.#reporter.end(), this.#parts.onEventsLost);
  }
}
