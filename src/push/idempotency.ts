/** What is remembered of a published message that carried an Idempotency-Key. */
export interface Remembered {
  id: string;
  fingerprint: Fingerprint;
  atMs: number;
}

export type Fingerprint = bigint | number;

export interface IdempotencyOptions {
  windowMs: number;
  /** Above it the older half is forgotten early. */
  maxKeys: number;
}

export const idempotencyDefaults: IdempotencyOptions = { windowMs: 5 * 60_000, maxKeys: 1_000_000 };

/**
 * Keys of messages that were delivered here; a publish that failed is never among them. They stand in two halves, of
 * which the older goes as a whole: deleting the oldest of a large map one by one would walk over all deleted before it.
 */
export class Idempotency {
  readonly #options: IdempotencyOptions;
  #newer = new Map<string, Remembered>();
  #older = new Map<string, Remembered>();
  #turnedAtMs = 0;

  constructor(options: IdempotencyOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  find(key: string, nowMs: number): Remembered | undefined {
    const found = this.#newer.get(key) ?? this.#older.get(key);
    return found && found.atMs > nowMs - this.#options.windowMs ? found : undefined;
  }

  /** False when the key is known already: the message is a repeat and must not be delivered. */
  remember(key: string, id: string, fingerprint: Fingerprint, nowMs: number): boolean {
    if (this.find(key, nowMs)) return false;
    if (this.#newer.size >= this.#options.maxKeys / 2) this.#turn(nowMs);
    this.#newer.set(key, { id, fingerprint, atMs: nowMs });
    return true;
  }

  forgetOld(nowMs: number): void {
    if (this.size > 0 && nowMs - this.#turnedAtMs >= this.#options.windowMs) this.#turn(nowMs);
  }

  #turn(nowMs: number): void {
    this.#older = this.#newer;
    this.#newer = new Map();
    this.#turnedAtMs = nowMs;
  }
}

/** The same for the same message: tells a repeat from another message under a key that was used before. */
export function fingerprintOf(targetType: string, target: string, data: string): Fingerprint {
  return Bun.hash(`${targetType}\n${target.length}\n${target}\n${data}`);
}
