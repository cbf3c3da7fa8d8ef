/** What is remembered of a published message that carried an Idempotency-Key. */
interface Remembered {
  id: string;
  fingerprint: bigint | number;
  atMs: number;
}

export interface IdempotencyOptions {
  windowMs: number;
  /** Above it the oldest are forgotten early. */
  maxKeys: number;
}

export const idempotencyDefaults: IdempotencyOptions = { windowMs: 5 * 60_000, maxKeys: 1_000_000 };

/** Keys of messages that were delivered here, in order of delivery. A publish that failed is never among them. */
export class Idempotency {
  readonly #options: IdempotencyOptions;
  readonly #remembered = new Map<string, Remembered>();

  constructor(options: IdempotencyOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#remembered.size;
  }

  find(key: string, nowMs: number): Remembered | undefined {
    const found = this.#remembered.get(key);
    return found && found.atMs > nowMs - this.#options.windowMs ? found : undefined;
  }

  /** False when the key is known already: the message is a repeat and must not be delivered. */
  remember(key: string, id: string, fingerprint: bigint | number, nowMs: number): boolean {
    this.forgetOld(nowMs);
    if (this.#remembered.has(key)) return false;
    if (this.#remembered.size >= this.#options.maxKeys) this.#forgetFirst();
    this.#remembered.set(key, { id, fingerprint, atMs: nowMs });
    return true;
  }

  /** Keys stand in order of time, so that only the front is looked at. */
  forgetOld(nowMs: number): void {
    for (const { atMs } of this.#remembered.values()) {
      if (atMs > nowMs - this.#options.windowMs) return;
      this.#forgetFirst();
    }
  }

  #forgetFirst(): void {
    for (const key of this.#remembered.keys()) {
      this.#remembered.delete(key);
      return;
    }
  }
}

/** The same for the same message: tells a repeat from another message under a key that was used before. */
export function fingerprintOf(targetType: string, target: string, data: string): bigint | number {
  return Bun.hash(`${targetType}\n${target.length}\n${target}\n${data}`);
}
