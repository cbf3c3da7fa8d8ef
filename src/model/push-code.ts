/** A short-lived, single-use code of our own that admits one WebSocket connection. */
export interface PushCode {
  /** SHA-256 of the code. */
  codeHash: string;
  userId: string;
  /** Only good for temp=1, and then temporary without end: the console's own connections. */
  console: boolean;
  /** Channel globs granted; null: push.public-channels. */
  channels: string[] | null;
  expiresAt: Date;
}

export interface PushCodeKeeper {
  create(code: PushCode): Promise<void>;
  /** Answers the code and deletes it, in one step: a second call answers null. Expired ones are null. */
  consume(codeHash: string, now: Date): Promise<PushCode | null>;
  /** Those that are out and not used yet. */
  deleteOfUser(userId: string): Promise<number>;
  deleteExpired(now: Date): Promise<number>;
}
