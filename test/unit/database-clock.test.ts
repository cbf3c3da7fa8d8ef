import { expect, test } from "bun:test";
import { buildDatabaseClock } from "../../src/store/postgres/database-clock.ts";

/** A database whose time is ours plus `aheadMs`, and that answers each question after the given way there and back. */
function fakeDatabase(aheadMs: number) {
  let elapsedMs = 1_000;
  const ways: { thereMs: number; backMs: number }[] = [];
  return {
    elapsed: () => elapsedMs,
    pass(ms: number) {
      elapsedMs += ms;
    },
    next: (thereMs: number, backMs: number) => void ways.push({ thereMs, backMs }),
    step(ms: number) {
      aheadMs += ms;
    },
    now: () => elapsedMs + aheadMs,
    async ask() {
      const { thereMs, backMs } = ways.shift() ?? { thereMs: 1, backMs: 1 };
      elapsedMs += thereMs;
      const answer = elapsedMs + aheadMs;
      elapsedMs += backMs;
      return answer;
    },
  };
}

type FakeDatabase = ReturnType<typeof fakeDatabase>;

async function clockOf(database: FakeDatabase) {
  const clock = await buildDatabaseClock(database.ask, database.elapsed);
  return { errorMs: () => Math.abs(clock.now().getTime() - database.now()) };
}

/** Long enough for a new measure, which `now` starts; its answer has arrived after this. */
async function measureAgain(database: FakeDatabase, { errorMs }: { errorMs: () => number }): Promise<void> {
  database.pass(11_000);
  errorMs();
  await Bun.sleep(0);
}

test("a measure whose answer was held up for seconds does not move the database's time", async () => {
  for (const [thereMs, backMs] of [
    [1, 6_000],
    [6_000, 1],
  ] as const) {
    const database = fakeDatabase(500_000);
    const clock = await clockOf(database);
    expect(clock.errorMs()).toBeLessThan(5);
    database.next(thereMs, backMs);
    await measureAgain(database, clock);
    expect(clock.errorMs()).toBeLessThan(5);
  }
});

test("a stall of the very first measure is corrected by the ones after it", async () => {
  const database = fakeDatabase(-70_000);
  database.next(1, 8_000);
  const clock = await clockOf(database);
  expect(clock.errorMs()).toBeLessThan(5);
});

test("a database clock that was set is followed", async () => {
  const database = fakeDatabase(0);
  const clock = await clockOf(database);
  for (const stepMs of [3_600_000, -3_600_000]) {
    database.step(stepMs);
    await measureAgain(database, clock);
    expect(clock.errorMs()).toBeLessThan(5);
  }
});
