import { BoundedMap } from "./bounded-map.ts";

const maxKeys = 20_000;

/** Event times of one key, oldest first from `head`. */
interface Events {
  times: number[];
  head: number;
}

/** At most `limit` events of one key in any span of `windowMs`. The least recently used key is forgotten first. */
export class SlidingWindow<Key extends string | number> {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #events = new BoundedMap<Key, Events>(maxKeys);

  constructor(limit: number, windowMs = 60_000) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** Counts an event and returns null, or returns the milliseconds until the next event is allowed. */
  take(key: Key, nowMs: number): number | null {
    const events = this.#events.get(key) ?? { times: [], head: 0 };
    this.#events.set(key, events);
    const waitMs = this.#waitOf(events, nowMs);
    if (waitMs === null) events.times.push(nowMs);
    return waitMs;
  }

  /** What `take` would return, without counting an event. */
  waitMs(key: Key, nowMs: number): number | null {
    const events = this.#events.get(key);
    return events === undefined ? null : this.#waitOf(events, nowMs);
  }

  /** Removes an event of that time. */
  giveBack(key: Key, takenAtMs: number): void {
    const events = this.#events.get(key);
    const index = events?.times.lastIndexOf(takenAtMs) ?? -1;
    if (events && index >= events.head) events.times.splice(index, 1);
  }

  #waitOf(events: Events, nowMs: number): number | null {
    dropUntil(events, nowMs - this.#windowMs);
    if (events.times.length - events.head < this.#limit) return null;
    return (events.times[events.head] ?? nowMs) + this.#windowMs - nowMs;
  }
}

/** Removes times in large steps: an array that loses its first element copies all others. */
function dropUntil(events: Events, endMs: number): void {
  while (events.head < events.times.length && (events.times[events.head] ?? 0) <= endMs) events.head++;
  if (events.head < 1024 && events.head < events.times.length) return;
  events.times.splice(0, events.head);
  events.head = 0;
}

/** One entry per key, made anew in each window of `windowMs`. Keys beyond `maxKeys` share one entry, so that memory is bounded. */
export class FixedWindow<Entry> {
  readonly #options: { windowMs: number; maxKeys: number };
  readonly #create: () => Entry;
  readonly #entries = new Map<string, Entry>();
  #window = 0;

  constructor(options: { windowMs: number; maxKeys: number }, create: () => Entry) {
    this.#options = options;
    this.#create = create;
  }

  entryOf(key: string, nowMs: number): Entry {
    const window = Math.floor(nowMs / this.#options.windowMs);
    if (window !== this.#window) {
      this.#window = window;
      this.#entries.clear();
    }
    const isOwn = this.#entries.size < this.#options.maxKeys || this.#entries.has(key);
    const ownKey = isOwn ? key : "";
    const known = this.#entries.get(ownKey);
    if (known !== undefined) return known;
    const created = this.#create();
    this.#entries.set(ownKey, created);
    return created;
  }
}

/** Retry-After in whole seconds, at least one. */
export function wholeSeconds(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1000));
}
