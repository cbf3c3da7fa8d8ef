/** The part of `sessionStorage` that the client uses. */
export interface SessionStore {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

interface Session {
  position: string;
  channels: string[];
}

/** Position and channels of the last connection of this tab, so that a reloaded page resumes. */
export class KeptSession {
  readonly #key: string;
  readonly #store: SessionStore | undefined;

  /** Without a key or a store nothing is kept. */
  constructor(key: string | undefined, store: SessionStore | undefined) {
    this.#key = `slipway-push:${key}`;
    this.#store = key === undefined ? undefined : (store ?? ownStore());
  }

  read(): Session | null {
    try {
      const [position, ...channels] = JSON.parse(this.#store?.getItem(this.#key) ?? "[]").map(String);
      return position === undefined ? null : { position, channels };
    } catch {
      return null; // Written by something else, or the storage is denied.
    }
  }

  write(position: string, channels: Iterable<string>): void {
    try {
      this.#store?.setItem(this.#key, JSON.stringify([position, ...channels]));
    } catch {
      // The storage is full or denied: a reload starts anew.
    }
  }
}

/** Reading the property throws where a browser denies all storage. */
function ownStore(): SessionStore | undefined {
  try {
    return globalThis.sessionStorage;
  } catch {
    return undefined;
  }
}
