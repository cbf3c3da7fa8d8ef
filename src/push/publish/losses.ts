import type { Bus } from "../../bus/bus.ts";
import type { Clock } from "../../clock.ts";
import type { Connections } from "../connection/connections.ts";
import type { ResumeRing } from "../fanout/resume-ring.ts";
import type { PushFigures } from "../message/figures.ts";
import type { BroadcastMessage } from "../message/message.ts";
import { SequenceGaps, sequenceGapsDefaults } from "./sequence-gaps.ts";

export interface LossParts {
  bus: Pick<Bus, "name" | "state">;
  ring: ResumeRing;
  connections: Pick<Connections, "size">;
  figures: PushFigures;
  steady: Clock;
}

/** Messages that did not arrive here, or not yet: a resume reports `recovered: true` only if there are none. */
export class Losses {
  readonly #parts: LossParts;
  readonly #gaps: SequenceGaps;
  readonly #isLocal: boolean;

  constructor(parts: LossParts) {
    this.#parts = parts;
    this.#isLocal = parts.bus.name === "local";
    this.#gaps = new SequenceGaps({
      ...sequenceGapsDefaults,
      onGap: (count) => {
        parts.figures.missing += count;
        this.lost();
      },
    });
  }

  /** False while the queue is away, is being caught up with, or a number was passed over: what waits there may be lost. */
  get isNothingAwaited(): boolean {
    return this.#parts.bus.state().ready && !this.#gaps.isAwaiting;
  }

  /** What goes from here to here cannot get lost on the way. */
  arrived(message: BroadcastMessage): void {
    if (!this.#isLocal) this.#gaps.seen(message, this.#parts.steady.now());
  }

  /** Open connections may have missed messages; without open connections nothing is lost. */
  lost(): void {
    const { ring, steady, connections, figures } = this.#parts;
    if (connections.size > 0) figures.losses++;
    ring.pass(steady.now());
  }

  tick(nowMs: number): void {
    this.#gaps.tick(nowMs);
  }
}
