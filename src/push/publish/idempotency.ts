/** What a repeat of a publish with an Idempotency-Key is compared with and answered from. */
export interface KeyRecord {
  id: string;
  fingerprint: bigint;
  /** Recipients of the first publish; null: unknown. */
  receivers: number | null;
  /** Read before consuming began; the message itself may still arrive here once. */
  isRecalled: boolean;
  atMs: number;
}

export interface IdempotencyOptions {
  windowMs: number;
  /** Whether other instances publish too: then a key is stored when its message is delivered here. */
  isShared: boolean;
  /** Beyond this the older half is forgotten before its time. */
  maxKeys: number;
}

/** Stores keys, so that they survive a restart. */
export interface KeyJournal {
  add(key: string, record: KeyRecord): void;
  /** Writes keys that could not be written before, for example on a full disk. Call often; it limits its attempts. */
  retry(): void;
  /** Starts a new file; keys older than the previous file are no longer needed. */
  rotate(): void;
}

export const idempotencyDefaults = { windowMs: 5 * 60_000, isShared: false, maxKeys: 1_000_000 };

/**
 * Idempotency keys of delivered messages, never of a failed publish. They are in two maps, and the older one is dropped as
 * a whole: finding the oldest entry of a large map would walk over all entries deleted before it.
 */
export class Idempotency {
  readonly #options: IdempotencyOptions;
  readonly #journal: KeyJournal | null;
  #newer = new Map<string, KeyRecord>();
  #older = new Map<string, KeyRecord>();
  /** Null: not yet; keys of the previous process in the journal are valid for the full window. */
  #rotatedAtMs: number | null = null;

  constructor(options: IdempotencyOptions, journal: KeyJournal | null = null) {
    this.#options = options;
    this.#journal = journal;
  }

  get windowMs(): number {
    return this.#options.windowMs;
  }

  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  find(key: string, nowMs: number): KeyRecord | undefined {
    const found = this.#newer.get(key) ?? this.#older.get(key);
    return found && found.atMs > nowMs - this.#options.windowMs ? found : undefined;
  }

  /** False: the key was used before, and the message must not be delivered again. */
  remember(key: string, id: string, fingerprint: bigint, nowMs: number): boolean {
    const known = this.find(key, nowMs);
    const isFirst = !known || (known.isRecalled && known.id === id);
    if (known && isFirst) known.isRecalled = false;
    if (!known) {
      const record = { id, fingerprint, receivers: null, isRecalled: false, atMs: nowMs };
      this.#add(key, record, nowMs);
      if (this.#options.isShared) this.#journal?.add(key, record);
    }
    return isFirst;
  }

  /** Adds a key from before this process started, or before it was consuming. */
  recall(key: string, record: KeyRecord, nowMs: number): void {
    const isOver = record.atMs <= nowMs - this.#options.windowMs;
    if (!isOver && !this.find(key, nowMs)) this.#add(key, record, nowMs);
  }

  /** Stores the result of the first publish with the key; repeats are answered with it. */
  published(key: string, receivers: number | null, nowMs: number): void {
    const record = this.find(key, nowMs);
    if (!record) return;
    record.receivers = receivers;
    if (!this.#options.isShared) this.#journal?.add(key, record);
  }

  /** Call regularly: it also lets the journal write keys that it could not write before. */
  dropOld(nowMs: number): void {
    this.#journal?.retry();
    this.#rotatedAtMs ??= nowMs;
    if (this.size > 0 && nowMs - this.#rotatedAtMs >= this.#options.windowMs) this.#rotate(nowMs);
  }

  #add(key: string, record: KeyRecord, nowMs: number): void {
    if (this.#newer.size >= this.#options.maxKeys / 2) this.#rotate(nowMs);
    this.#newer.set(key, record);
  }

  #rotate(nowMs: number): void {
    this.#journal?.rotate();
    this.#older = this.#newer;
    this.#newer = new Map();
    this.#rotatedAtMs = nowMs;
  }
}

/** Differs for another message, so that a key that is used again with another message is refused. */
export function fingerprintOf(targetType: string, target: string, data: string): bigint {
  return BigInt(Bun.hash(`${targetType}\n${target.length}\n${target}\n${data}`));
}
