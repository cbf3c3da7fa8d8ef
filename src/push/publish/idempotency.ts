/** What is remembered of a published message that carried an Idempotency-Key. */
export interface Remembered {
  id: string;
  fingerprint: bigint;
  /** Connections that the first publish reached; null if unknown. */
  receivers: number | null;
  /** Loaded at start; the message itself may still arrive here once. */
  isRecalled: boolean;
  atMs: number;
}

export interface IdempotencyOptions {
  windowMs: number;
  /** Above it the older half is forgotten early. */
  maxKeys: number;
}

/** Persistent storage of keys. */
export interface KeyJournal {
  add(key: string, remembered: Remembered): void;
  /** Starts a new file; keys older than the previous file are no longer needed. */
  turn(): void;
}

export const idempotencyDefaults: IdempotencyOptions = { windowMs: 5 * 60_000, maxKeys: 1_000_000 };

/**
 * Keys of messages that were delivered here; a publish that failed is never among them. They stand in two halves, of
 * which the older goes as a whole: deleting the oldest of a large map one by one would walk over all deleted before it.
 */
export class Idempotency {
  readonly #options: IdempotencyOptions;
  readonly #journal: KeyJournal | null;
  #newer = new Map<string, Remembered>();
  #older = new Map<string, Remembered>();
  /** null: not yet; the journal may hold keys of the previous process, which stay valid for the full window. */
  #turnedAtMs: number | null = null;

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

  find(key: string, nowMs: number): Remembered | undefined {
    const found = this.#newer.get(key) ?? this.#older.get(key);
    return found && found.atMs > nowMs - this.#options.windowMs ? found : undefined;
  }

  /**
   * False when the key was used before: the message is a repeat and must not be delivered. The first message of a key that
   * was recalled at start is not a repeat.
   */
  remember(key: string, id: string, fingerprint: bigint, nowMs: number): boolean {
    const known = this.find(key, nowMs);
    const isFirst = !known || (known.isRecalled && known.id === id);
    if (known && isFirst) known.isRecalled = false;
    if (!known) this.#add(key, { id, fingerprint, receivers: null, isRecalled: false, atMs: nowMs }, nowMs);
    return isFirst;
  }

  /** Keys from before this process started, or before it was consuming. */
  recall(key: string, remembered: Remembered, nowMs: number): void {
    const isOver = remembered.atMs <= nowMs - this.#options.windowMs;
    if (!isOver && !this.find(key, nowMs)) this.#add(key, remembered, nowMs);
  }

  /** The first message with the key was delivered: repeats get this answer. */
  published(key: string, receivers: number | null, nowMs: number): void {
    const remembered = this.find(key, nowMs);
    if (!remembered) return;
    remembered.receivers = receivers;
    this.#journal?.add(key, remembered);
  }

  forgetOld(nowMs: number): void {
    this.#turnedAtMs ??= nowMs;
    if (this.size > 0 && nowMs - this.#turnedAtMs >= this.#options.windowMs) this.#turn(nowMs);
  }

  #add(key: string, remembered: Remembered, nowMs: number): void {
    if (this.#newer.size >= this.#options.maxKeys / 2) this.#turn(nowMs);
    this.#newer.set(key, remembered);
  }

  #turn(nowMs: number): void {
    this.#journal?.turn();
    this.#older = this.#newer;
    this.#newer = new Map();
    this.#turnedAtMs = nowMs;
  }
}

/** The same for the same message: tells a repeat from another message under a key that was used before. */
export function fingerprintOf(targetType: string, target: string, data: string): bigint {
  return BigInt(Bun.hash(`${targetType}\n${target.length}\n${target}\n${data}`));
}
