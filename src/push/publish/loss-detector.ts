import type { Bus } from "../../bus/bus.ts";
import type { Clock } from "../../clock.ts";
import type { Connections } from "../connection/connections.ts";
import type { ResumeRing } from "../fanout/resume-ring.ts";
import type { PushCounters } from "../message/counters.ts";
import type { BroadcastMessage } from "../message/message.ts";
import { SequenceGaps, sequenceGapsDefaults } from "./sequence-gaps.ts";

export interface LossDetectorParts {
  bus: Pick<Bus, "name" | "state">;
  ring: ResumeRing;
  connections: Pick<Connections, "size">;
  counters: PushCounters;
  steady: Clock;
}

/** Detects messages that did not reach this instance. A resume reports `recovered: true` only if there are none. */
export class LossDetector {
  readonly #parts: LossDetectorParts;
  readonly #gaps: SequenceGaps;
  readonly #isLossless: boolean;

  constructor(parts: LossDetectorParts) {
    this.#parts = parts;
    this.#isLossless = parts.bus.name === "local" || parts.bus.name === "workers";
    this.#gaps = new SequenceGaps({
      ...sequenceGapsDefaults,
      onLoss: (count) => {
        parts.counters.missing += count;
        this.reportLoss();
      },
    });
  }

  /** False while the queue is not ready or a sequence number is missing: messages may still arrive, or be lost. */
  get hasNoGaps(): boolean {
    return this.#parts.bus.state().ready && !this.#gaps.hasGaps;
  }

  /** Call for every received message. Within one instance no message is lost. */
  observe(message: BroadcastMessage): void {
    if (!this.#isLossless) this.#gaps.observe(message, this.#parts.steady.now());
  }

  /** Open connections may have missed messages; without open connections it is not counted as a loss. */
  reportLoss(): void {
    const { ring, steady, connections, counters } = this.#parts;
    if (connections.size > 0) counters.losses++;
    ring.skip(steady.now());
  }

  tick(nowMs: number): void {
    this.#gaps.tick(nowMs);
  }
}
