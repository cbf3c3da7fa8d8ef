import { tagOf } from "../message/ids.ts";
import type { BroadcastMessage } from "../message/message.ts";

export interface SequenceGapsOptions {
  /** How long a number may be late: a queue with partitions keeps order per target, not per instance. */
  lateMs: number;
  /** Publishers remembered, and numbers awaited of each; the oldest go first. */
  maxSources: number;
  maxAwaited: number;
  /** Called with how many numbers never came: lost on the way here, or refused by the queue when they were published. */
  onGap: (count: number) => void;
}

export const sequenceGapsDefaults = { lateMs: 5_000, maxSources: 1_000, maxAwaited: 10_000 };

interface Source {
  highest: number;
  /** Numbers that were passed over, and since when. */
  awaited: Map<number, number>;
}

/** Sees by the running numbers of each publisher that messages are missing. */
export class SequenceGaps {
  readonly #options: SequenceGapsOptions;
  readonly #sources = new Map<string, Source>();

  constructor(options: SequenceGapsOptions) {
    this.#options = options;
  }

  seen({ id, seq }: Pick<BroadcastMessage, "id" | "seq">, nowMs: number): void {
    // Other services write without a number.
    if (seq <= 0) return;
    const source = this.#sources.get(tagOf(id));
    if (!source) this.#remember(tagOf(id), seq);
    else if (seq <= source.highest) source.awaited.delete(seq);
    else this.#advance(source, seq, nowMs);
  }

  /** Whether any number may still come that should be here already. */
  get isAwaiting(): boolean {
    for (const { awaited } of this.#sources.values()) if (awaited.size > 0) return true;
    return false;
  }

  tick(nowMs: number): void {
    const before = nowMs - this.#options.lateMs;
    let lost = 0;
    for (const { awaited } of this.#sources.values()) {
      for (const [seq, sinceMs] of awaited) {
        if (sinceMs > before) break;
        awaited.delete(seq);
        lost++;
      }
    }
    if (lost > 0) this.#options.onGap(lost);
  }

  /** What a publisher said before we first heard it was not meant for us. */
  #remember(tag: string, seq: number): void {
    if (this.#sources.size >= this.#options.maxSources) this.#forgetOldest();
    this.#sources.set(tag, { highest: seq, awaited: new Map() });
  }

  #forgetOldest(): void {
    const [oldest] = this.#sources;
    if (!oldest) return;
    const [tag, { awaited }] = oldest;
    this.#sources.delete(tag);
    if (awaited.size > 0) this.#options.onGap(awaited.size);
  }

  #advance(source: Source, seq: number, nowMs: number): void {
    const missing = seq - source.highest - 1;
    const room = this.#options.maxAwaited - source.awaited.size;
    const awaited = Math.min(missing, room);
    for (let number = seq - awaited; number < seq; number++) source.awaited.set(number, nowMs);
    source.highest = seq;
    if (missing > awaited) this.#options.onGap(missing - awaited);
  }
}
