import { buildBackoff, type Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { isTokenRefused } from "./server-client.ts";

export interface ServerWatchOptions {
  clock: Clock;
  log: Logger;
  random?: () => number;
}

/** A server that stays unreachable is logged again after this time. */
const mentionEveryMs = 10 * 60_000;
/** Short enough for a server that restarts, long enough for a server that stays down. */
const awayWaitMs = { first: 100, max: 10_000 };
/** A refused token stays refused until a person acts. */
const refusedWaitMs = { first: 5_000, max: 60_000 };

/** Logs the state of the connection to the server: each change once, a lasting state from time to time. */
export function buildServerWatch({ clock, log, random }: ServerWatchOptions) {
  const away = buildBackoff(awayWaitMs.first, awayWaitMs.max, random);
  const refused = buildBackoff(refusedWaitMs.first, refusedWaitMs.max, random);
  let failingSince: number | null = null;
  let mentionedAt: number | null = null;

  function mentionRefusal(error: unknown, waitMs: number): void {
    log.error(
      { error: messageOf(error), nextTryInSeconds: seconds(waitMs) },
      "the server refuses this runner's token, so it gets no work: enable the runner under Runners in the console, or start it with a new token",
    );
  }

  function mentionAway(error: unknown, waitMs: number): void {
    const now = clock.elapsed();
    if (mentionedAt !== null && now - mentionedAt < mentionEveryMs) return;
    mentionedAt = now;
    const longest = `then every ${awayWaitMs.max / 1000} s`;
    const awayForSeconds = seconds(now - (failingSince ?? now));
    log.warn(
      { error: messageOf(error), awayForSeconds },
      `the server gives no work; next try in ${seconds(waitMs)} s, ${longest}`,
    );
  }

  return {
    answered(): void {
      if (failingSince !== null)
        log.info({ awayForSeconds: seconds(clock.elapsed() - failingSince) }, "the server answers again");
      [failingSince, mentionedAt] = [null, null];
      away.reset();
      refused.reset();
    },
    /** Logs the failure and returns the delay before the next attempt. */
    failed(error: unknown): number {
      failingSince ??= clock.elapsed();
      const isRefused = isTokenRefused(error);
      const waitMs = (isRefused ? refused : away).nextMs();
      if (isRefused) mentionRefusal(error, waitMs);
      else mentionAway(error, waitMs);
      return waitMs;
    },
  };
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
