const maxAgeMs = 10_000;

export interface DatabaseClock {
  now(): Date;
}

/**
 * The database's time without asking it each time: it is measured now and then and carried on by a clock that never
 * jumps. Asking would cost a round trip per delivery and, inside of a transaction, a second connection.
 */
export async function buildDatabaseClock(askDatabase: () => Promise<number>): Promise<DatabaseClock> {
  let measured = await measure(askDatabase);
  let isMeasuring = false;
  const refresh = () => {
    isMeasuring = true;
    measure(askDatabase)
      .then((fresh) => {
        measured = fresh;
      })
      // A database that is away cannot be asked; the measure before still holds.
      .catch(() => {})
      .finally(() => {
        isMeasuring = false;
      });
  };
  return {
    now() {
      const ageMs = performance.now() - measured.atMs;
      if (ageMs > maxAgeMs && !isMeasuring) refresh();
      return new Date(Math.round(measured.databaseMs + ageMs));
    },
  };
}

async function measure(askDatabase: () => Promise<number>): Promise<{ databaseMs: number; atMs: number }> {
  const startMs = performance.now();
  const databaseMs = await askDatabase();
  return { databaseMs, atMs: (startMs + performance.now()) / 2 };
}
