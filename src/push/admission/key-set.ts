import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTHeaderParameters } from "jose";
import type { Clock } from "../../clock.ts";

/** Finds the public keys for the header of a token. Rejects if the keys cannot be had now. */
export type KeySet = (header: JWTHeaderParameters) => Promise<CryptoKey[]>;

/** Keys that do not change while the process runs. */
export function fixedKeys(keys: JSONWebKeySet): KeySet {
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

/** How long keys are used before they are read again, so that a removed key is noticed. */
const refreshMs = 5 * 60_000;
/** A token with an unknown key lets the keys be read again at most this often. */
const cooldownMs = 10_000;

/**
 * Keys that their owner may replace at any time. A token with a key that is not known yet lets them be read again. While
 * they cannot be read, tokens with known keys are verified with the earlier ones.
 */
export function rotatingKeys({ load, clock, onFault }: RotatingKeysOptions): KeySet {
  let known: KeySet | null = null;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  let loading: Promise<void> | null = null;

  async function read(): Promise<void> {
    triedAtMs = clock.now();
    try {
      known = fixedKeys(await load());
      hasFailed = false;
    } catch (error) {
      hasFailed = true;
      onFault(error);
    } finally {
      loading = null;
    }
  }

  function refresh(): Promise<void> {
    loading ??= read();
    return loading;
  }

  return async (header) => {
    const ageMs = clock.now() - triedAtMs;
    if (known === null && (loading || ageMs >= cooldownMs)) await refresh();
    else if (ageMs >= refreshMs) void refresh();
    const found = (await known?.(header)) ?? [];
    if (found.length > 0) return found;
    if (loading || clock.now() - triedAtMs >= cooldownMs) await refresh();
    const later = (await known?.(header)) ?? [];
    // The key may be a new one that could not be read.
    if (later.length === 0 && hasFailed) throw new Error("the keys cannot be read");
    return later;
  };
}
