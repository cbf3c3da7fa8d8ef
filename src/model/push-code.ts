/** A short-lived, single-use code of our own that admits one WebSocket connection. */
export interface PushCode {
  /** SHA-256 of the code. */
  codeHash: string;
  userId: string;
  /** Only good for temp=1: the console's own connections. */
  console: boolean;
  /** Channel globs granted; null: push.public-channels. */
  channels: string[] | null;
  expiresAt: Date;
  /** When a connection of the console ends: with the session or token that the code was made with; null: never. */
  endsAt: Date | null;
}

export interface PushCodeKeeper {
  create(code: PushCode): Promise<void>;
  /** Answers the code and deletes it, in one step: a second call answers null. Expired ones are null. */
  consume(codeHash: string, now: Date): Promise<PushCode | null>;
  /** Those that are out and not used yet. */
  deleteOfUser(userId: string): Promise<number>;
  deleteExpired(now: Date): Promise<number>;
}
