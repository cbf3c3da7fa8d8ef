/** The record that used an idempotency key first. Later ones with the same key are not delivered. */
export interface FirstUse {
  offset: number;
  id: string;
  fingerprint: bigint;
  atMs: number;
}

export interface IdempotencyOptions {
  windowMs: number;
  /** Beyond this the older half is forgotten before its time. */
  maxKeys: number;
}

export const idempotencyDefaults: IdempotencyOptions = { windowMs: 5 * 60_000, maxKeys: 1_000_000 };

/**
 * The idempotency keys of the last minutes of the log. Every instance reads the same records in the same order, so that all
 * agree which record used a key first. Keys are in two maps, and the older one is dropped as a whole: finding the oldest
 * entry of a large map would walk over all entries deleted before it.
 */
export class Idempotency {
  readonly #options: IdempotencyOptions;
  #newer = new Map<string, FirstUse>();
  #older = new Map<string, FirstUse>();
  #rotatedAtMs = Number.NEGATIVE_INFINITY;
  /** By id of the record: publishers that wait until it was read. */
  readonly #waiting = new Map<string, (first: FirstUse) => void>();

  constructor(options: IdempotencyOptions = idempotencyDefaults) {
    this.#options = options;
  }

  get windowMs(): number {
    return this.#options.windowMs;
  }

  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  find(key: string, nowMs: number): FirstUse | undefined {
    const found = this.#newer.get(key) ?? this.#older.get(key);
    return found && found.atMs > nowMs - this.#options.windowMs ? found : undefined;
  }

  /** A record with a key was read. Returns the first record with the key; it may be this one. */
  read(key: string, record: FirstUse): FirstUse {
    const first = this.find(key, record.atMs) ?? record;
    if (first === record) {
      if (this.#newer.size >= this.#options.maxKeys / 2) this.#rotate(record.atMs);
      this.#newer.set(key, first);
    }
    this.#waiting.get(record.id)?.(first);
    return first;
  }

  /** Resolves when the record was read, with the first record that has its key. Call before it is appended. */
  whenRead(id: string): { first: Promise<FirstUse>; forget(): void } {
    const { promise, resolve } = Promise.withResolvers<FirstUse>();
    this.#waiting.set(id, resolve);
    return { first: promise, forget: () => this.#waiting.delete(id) };
  }

  dropOld(nowMs: number): void {
    if (this.size > 0 && nowMs - this.#rotatedAtMs >= this.#options.windowMs) this.#rotate(nowMs);
  }

  #rotate(nowMs: number): void {
    this.#older = this.#newer;
    this.#newer = new Map();
    this.#rotatedAtMs = nowMs;
  }
}

/** Keys of different callers are different keys. */
export function scopedKey(caller: string, key: string): string {
  return `${caller}\n${key}`;
}

interface Fingerprinted {
  targetType: string;
  target: string;
  targets?: Iterable<string>;
  data: string;
  ack?: boolean;
}

/** Differs for another message, so that a key that is used again with another message is refused. */
export function fingerprintOf({ targetType, target, targets, data, ack }: Fingerprinted): bigint {
  const kind = ack ? `${targetType} ack` : targetType;
  if (targets) return BigInt(Bun.hash(`${kind}\n${JSON.stringify([...targets])}\n${data}`));
  return BigInt(Bun.hash(`${kind}\n${target.length}\n${target}\n${data}`));
}
