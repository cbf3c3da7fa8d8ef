import { endInTime, Reporter, type ReporterParts } from "./reporter.ts";

export interface InstancePresenceParts
  extends Pick<ReporterParts, "isOnline" | "tell" | "clock" | "steady" | "graceMs"> {
  onEventsLost: () => void;
}

/** Who came and went where there is one instance: it informs other services itself. */
export class InstancePresence {
  readonly #parts: InstancePresenceParts;
  readonly #reporter: Reporter;

  constructor(parts: InstancePresenceParts) {
    this.#parts = parts;
    this.#reporter = new Reporter({
      ...parts,
      announce: async (lists) => this.#reporter.heard(lists, true),
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

  /** Ends in order: nobody is online any more, and no other instance would report it. */
  async leave(): Promise<void> {
    await endInTime(this.#reporter.end(), this.#parts.onEventsLost);
  }
}
