/** A short-lived, single-use code, issued by Slipway, that admits one WebSocket connection. */
export interface PushCode {
  /** SHA-256 of the code. */
  codeHash: string;
  userId: string;
  /** For a connection of the console; valid only with temp=1. */
  console: boolean;
  /** Channel globs granted; null: push.public-channels. */
  channels: string[] | null;
  expiresAt: Date;
  /** When a connection of the console ends: with the session or token that created the code; null: never. */
  endsAt: Date | null;
}

export interface PushCodeKeeper {
  create(code: PushCode): Promise<void>;
  /** Returns and deletes the code atomically; null if it is unknown, used or expired. */
  consume(codeHash: string, now: Date): Promise<PushCode | null>;
  /** Deletes the unused codes of a user. */
  deleteOfUser(userId: string): Promise<number>;
  deleteExpired(now: Date): Promise<number>;
}
