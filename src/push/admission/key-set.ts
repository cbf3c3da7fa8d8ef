import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTHeaderParameters } from "jose";
import type { Clock } from "../../clock.ts";

/** Finds the public keys that are known now and fit the header of a token. */
export type FindKeys = (header: JWTHeaderParameters) => Promise<CryptoKey[]>;

/** Keys that do not change while the process runs. */
export function fixedKeys(keys: JSONWebKeySet): FindKeys {
  const find = createLocalJWKSet(keys);
  return async (header) => {
    try {
      return [await find(header)];
    } catch (error) {
      if (error instanceof errors.JWKSMultipleMatchingKeys) return Array.fromAsync(error);
      // A header that fits no key.
      if (error instanceof errors.JOSEError) return [];
      throw error;
    }
  };
}

export interface RotatingKeysOptions {
  /** Reads the current keys. */
  load: () => Promise<JSONWebKeySet>;
  clock: Clock;
  /** Called when the keys could not be read; the earlier ones stay valid. */
  onFault: (error: unknown) => void;
}

/** Keys that their owner may replace at any time. */
export interface RotatingKeys {
  find: FindKeys;
  /**
   * Reads the keys again, for a token that no known key has signed. True: the known keys were read after this call. False:
   * they cannot be read now, so that nobody can say that the token is wrong.
   */
  update(): Promise<boolean>;
}

/** How long keys are used before they are read again, so that a removed key is noticed. */
const refreshMs = 5 * 60_000;
/** Tokens let the keys be read at most this often. A client that is told to try again later finds them readable. */
const pauseMs = 2_000;
/** Tokens that wait for a read at most: strangers can send any number of them, and each takes a place among the verifications. */
const maxWaiting = 100;

/** While the keys cannot be read, tokens with known keys are verified with the earlier ones. */
export function rotatingKeys({ load, clock, onFault }: RotatingKeysOptions): RotatingKeys {
  let known: FindKeys | null = null;
  let startedAtMs = Number.NEGATIVE_INFINITY;
  let loading: Promise<boolean> | null = null;
  let waiting = 0;

  async function read(): Promise<boolean> {
    startedAtMs = clock.now();
    try {
      known = fixedKeys(await load());
      return true;
    } catch (error) {
      onFault(error);
      return false;
    } finally {
      loading = null;
    }
  }

  /** The read began before this token arrived, and may have missed its key. */
  async function othersRead(current: Promise<boolean>): Promise<false> {
    if (waiting >= maxWaiting) return false;
    waiting++;
    await current;
    waiting--;
    return false;
  }

  return {
    async find(header) {
      if (known && !loading && clock.now() - startedAtMs >= refreshMs) loading = read();
      return (await known?.(header)) ?? [];
    },
    async update() {
      if (loading) return othersRead(loading);
      if (clock.now() - startedAtMs < pauseMs) return false;
      loading = read();
      return loading;
    },
  };
}
