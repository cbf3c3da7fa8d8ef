const maxAgeMs = 10_000;
/** At the start nothing is known: a single measure may have been held up on its way. */
const firstMeasures = 3;

export interface DatabaseClock {
  now(): Date;
}

/** What to add to `elapsedMs` for the database's time: somewhere between the two. */
interface Bounds {
  earliestMs: number;
  latestMs: number;
}

/**
 * The database's time without asking it each time: it is measured now and then and carried on by a clock that never
 * jumps. Asking would cost a round trip per delivery and, inside of a transaction, a second connection.
 *
 * The answer was given somewhere between question and arrival. A quick round trip tells the time well; a slow one, as
 * after a stall, tells little and changes the known time only as far as it contradicts it.
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
      // A database that is away cannot be asked; the measure before still holds.
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
