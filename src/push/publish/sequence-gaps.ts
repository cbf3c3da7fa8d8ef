import { idPrefixOf } from "../message/ids.ts";
import type { BroadcastMessage } from "../message/message.ts";

export interface SequenceGapsOptions {
  /** How late a number may arrive: a queue with partitions keeps order per target, not per publisher. */
  lateMs: number;
  /** Publishers remembered; the oldest is forgotten first. */
  maxPublishers: number;
  /** Missing numbers remembered per publisher; more are reported as lost at once. */
  maxMissing: number;
  /** Called with the count of numbers that never arrived: lost on the way, or refused by the queue. */
  onLoss: (count: number) => void;
}

export const sequenceGapsDefaults = { lateMs: 5_000, maxPublishers: 1_000, maxMissing: 10_000 };

interface Publisher {
  highest: number;
  /** Missing numbers below `highest`, with the time at which the gap was seen. */
  missing: Map<number, number>;
}

/** Finds missing messages by the sequence numbers of each publisher. */
export class SequenceGaps {
  readonly #options: SequenceGapsOptions;
  readonly #publishers = new Map<string, Publisher>();

  constructor(options: SequenceGapsOptions) {
    this.#options = options;
  }

  observe({ id, seq }: Pick<BroadcastMessage, "id" | "seq">, nowMs: number): void {
    // Other services write messages without a number.
    if (seq <= 0) return;
    const publisher = this.#publishers.get(idPrefixOf(id));
    if (!publisher) this.#add(idPrefixOf(id), seq);
    else if (seq <= publisher.highest) publisher.missing.delete(seq);
    else this.#advance(publisher, seq, nowMs);
  }

  get hasGaps(): boolean {
    for (const { missing } of this.#publishers.values()) if (missing.size > 0) return true;
    return false;
  }

  tick(nowMs: number): void {
    const before = nowMs - this.#options.lateMs;
    let lost = 0;
    for (const { missing } of this.#publishers.values()) {
      for (const [seq, sinceMs] of missing) {
        if (sinceMs > before) break;
        missing.delete(seq);
        lost++;
      }
    }
    if (lost > 0) this.#options.onLoss(lost);
  }

  /** Numbers before the first received number are not missing. */
  #add(idPrefix: string, seq: number): void {
    if (this.#publishers.size >= this.#options.maxPublishers) this.#forgetOldest();
    this.#publishers.set(idPrefix, { highest: seq, missing: new Map() });
  }

  #forgetOldest(): void {
    const [oldest] = this.#publishers;
    if (!oldest) return;
    const [idPrefix, { missing }] = oldest;
    this.#publishers.delete(idPrefix);
    if (missing.size > 0) this.#options.onLoss(missing.size);
  }

  #advance(publisher: Publisher, seq: number, nowMs: number): void {
    const gap = seq - publisher.highest - 1;
    const remembered = Math.min(gap, this.#options.maxMissing - publisher.missing.size);
    for (let number = seq - remembered; number < seq; number++) publisher.missing.set(number, nowMs);
    publisher.highest = seq;
    if (gap > remembered) this.#options.onLoss(gap - remembered);
  }
}
