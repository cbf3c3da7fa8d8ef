import type { Clock } from "../clock.ts";

export interface PresenceParts {
  isOnline: (userId: string) => boolean;
  clock: Clock;
  graceMs: number;
  /** Told once when a user's first normal connection opens, and once when none has been open for the grace. */
  tell: (type: "online" | "offline", userId: string) => void;
}

export const presenceGraceMs = 5000;

/** Which users came and went. A reconnect within the grace is neither. */
export class Presence {
  readonly #parts: PresenceParts;
  readonly #told = new Set<string>();
  /** When a user without a normal connection becomes offline; in order of time, because the grace is the same for all. */
  readonly #leaving = new Map<string, number>();

  constructor(parts: PresenceParts) {
    this.#parts = parts;
  }

  opened(userId: string): void {
    this.#leaving.delete(userId);
    if (this.#told.has(userId)) return;
    this.#told.add(userId);
    this.#parts.tell("online", userId);
  }

  closed(userId: string): void {
    const { isOnline, clock, graceMs } = this.#parts;
    if (!isOnline(userId)) this.#leaving.set(userId, clock.now() + graceMs);
  }

  /** Nobody will look after them here: all who were told online are told offline, without a grace. */
  end(): void {
    this.#leaving.clear();
    for (const userId of this.#told) this.#parts.tell("offline", userId);
    this.#told.clear();
  }

  tick(nowMs: number): void {
    for (const [userId, atMs] of this.#leaving) {
      if (atMs > nowMs) return;
      this.#leaving.delete(userId);
      this.#told.delete(userId);
      this.#parts.tell("offline", userId);
    }
  }
}
