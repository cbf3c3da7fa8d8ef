const maxAgeMs = 10_000;
/** Several measurements at start, because a single one may have been delayed. */
const firstMeasures = 3;

export interface DatabaseClock {
  now(): Date;
}

/** Bounds of the offset from `elapsedMs` to the database's time. */
interface Bounds {
  earliestMs: number;
  latestMs: number;
}

/**
 * The database's time without a query per reading: it is measured now and then, and continued by a monotonic clock. A
 * query would cost a round trip per delivery and, inside a transaction, a second connection.
 *
 * The database answered at some time between request and response. A fast round trip gives a precise time; a slow one,
 * for example after a stall, changes the estimate only if it contradicts it.
 */
export async function buildDatabaseClock(
  askDatabase: () => Promise<number>,
  elapsedMs: () => number = () => performance.now(),
): Promise<DatabaseClock> {
  const measure = async (): Promise<Bounds> => {
    const askedAtMs = elapsedMs();
    const databaseMs = await askDatabase();
    return { earliestMs: databaseMs - elapsedMs(), latestMs: databaseMs - askedAtMs };
  };
  const first = await measure();
  let offsetMs = (first.earliestMs + first.latestMs) / 2;
  let measuredAtMs = elapsedMs();
  let isMeasuring = false;
  const learn = ({ earliestMs, latestMs }: Bounds) => {
    offsetMs = Math.min(Math.max(offsetMs, earliestMs), latestMs);
    measuredAtMs = elapsedMs();
  };
  for (let more = 1; more < firstMeasures; more++) learn(await measure());

  const refresh = () => {
    isMeasuring = true;
    measure()
      .then(learn)
      // The database is not reachable: the last measurement stays in use.
      .catch(() => {})
      .finally(() => {
        isMeasuring = false;
      });
  };
  return {
    now() {
      const nowMs = elapsedMs();
      if (nowMs - measuredAtMs > maxAgeMs && !isMeasuring) refresh();
      return new Date(Math.round(nowMs + offsetMs));
    },
  };
}
