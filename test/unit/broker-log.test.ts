import { expect, test } from "bun:test";
import { BrokerLog } from "../../src/bus/broker-log.ts";
import { manualClock } from "../../src/clock.ts";
import { silentLog } from "../support/buses.ts";

function build({ isContiguous = true, receive = async () => {} } = {}) {
  const events: (string | number)[] = [];
  const ages: number[] = [];
  const log = new BrokerLog({
    name: "broadcast",
    append: async () => {},
    isContiguous,
    clock: manualClock(),
    log: silentLog,
  });
  log.read(300_000, {
    async receive(records) {
      events.push(...records.map(({ offset }) => offset));
      ages.push(...records.map(({ ageMs }) => ageMs));
      await receive();
      return undefined;
    },
    caughtUp: () => events.push("caught up"),
    lost: () => events.push("lost"),
  });
  return { log, events, ages };
}

const records = (...offsets: number[]) =>
  offsets.map((offset) => ({ offset, body: Buffer.from(JSON.stringify({ id: `r${offset}` })) }));

test("it starts with the window, and continues at the last handled record, which is not passed on again", async () => {
  const { log, events } = build();
  expect(await log.begin()).toEqual({ ageMs: 300_000 });
  await log.receive(records(7, 8));
  expect(await log.begin()).toEqual({ offset: 8 });
  expect(log.awaitsRepeat).toBe(true);
  await log.receive(records(8, 9));
  expect(log.awaitsRepeat).toBe(false);
  expect(events).toEqual([7, 8, 9]);
  expect(log.figures().offset).toBe(9);
});

test("a record that its process appended twice is marked; those of other processes and services are not", async () => {
  const { log } = build();
  const repeats: unknown[] = [];
  log.read(300_000, {
    receive: (batch) => void repeats.push(...batch.map(({ isRepeat }) => isRepeat)),
    caughtUp() {},
    lost() {},
  });
  await log.begin();
  const values = [
    { id: "a-1", node: "n" },
    { id: "a-z", node: "n" },
    { id: "b-1", node: "n" },
    { id: "a-z", node: "n" },
    { id: "a-10", node: "n" },
    { id: "a-1" },
  ];
  await log.receive(values.map((value, offset) => ({ offset, body: Buffer.from(JSON.stringify(value)) })));
  expect(repeats).toEqual([false, false, false, true, false, false]);
});

test("a session begins after the batch of the session before is handled", async () => {
  const gate = Promise.withResolvers<void>();
  const { log } = build({ receive: () => gate.promise });
  await log.begin();
  const handling = log.receive(records(1));
  let start: unknown;
  const beginning = log.begin().then((position) => {
    start = position;
  });
  // It would have begun in this turn.
  await new Promise(setImmediate);
  expect(start).toBeUndefined();
  gate.resolve();
  await Promise.all([handling, beginning]);
  expect(start).toEqual({ offset: 1 });
});

test("a missing offset is a loss before the next record, unless the broker uses offsets for other things", async () => {
  const contiguous = build();
  await contiguous.log.begin();
  await contiguous.log.receive(records(1, 2, 5, 6));
  expect(contiguous.events).toEqual([1, 2, "lost", 5, 6]);
  const other = build({ isContiguous: false });
  await other.log.begin();
  await other.log.receive(records(1, 2, 5, 6));
  expect(other.events).toEqual([1, 2, 5, 6]);
});

test("a log without the last record is a loss: after it, or created again", async () => {
  const { log, events } = build({ isContiguous: false });
  await log.begin();
  await log.receive(records(1, 2));
  await log.begin();
  await log.receive(records(5));
  expect(events).toEqual([1, 2, "lost", 5]);
  await log.begin();
  const other = [{ offset: 5, body: "of another log" }];
  await expect(log.receive(other)).rejects.toThrow("created again");
  expect(await log.begin()).toEqual({ ageMs: 300_000 });
  await log.receive([{ offset: 0, body: "first" }, ...other]);
  expect(events).toEqual([1, 2, "lost", 5, "lost", 0, 5]);
});

test("no record is older than the one before it, whatever the clock of its writer says", async () => {
  const { log, ages } = build();
  await log.begin();
  const record = (offset: number, secondsAgo: number) => ({
    offset,
    body: JSON.stringify({ v: 1, id: `r${offset}`, ts: Date.now() - secondsAgo * 1000 }),
  });
  await log.receive([record(1, 60), record(2, 3_600), record(3, 50)]);
  expect(ages.map((age) => Math.round(age / 1000))).toEqual([60, 60, 50]);
});

test("a record that is read later has its age, one that arrives at the end has none", async () => {
  const { log, ages } = build();
  await log.begin();
  const body = (value: object) => JSON.stringify(value);
  const ts = Date.now() - 60_000;
  await log.receive([
    { offset: 1, body: body({ v: 1, id: "own", ts }) },
    { offset: 2, body: body({ data: "of another service" }) },
    { offset: 3, body: body({ data: "with a time of the broker" }), atMs: Date.now() - 30_000 },
  ]);
  log.endReading();
  await log.receive([{ offset: 4, body: body({ v: 1, id: "from a host whose clock is slow", ts }) }]);
  expect(ages.map((age) => Math.round(age / 1000))).toEqual([60, 60, 30, 0]);
});

test("a marker that did not arrive is a loss only if the log does not have it", async () => {
  const { log, events } = build();
  await log.begin();
  await log.receive(records(1));
  log.endReading();
  log.noteMissing("r2");
  await log.begin();
  await log.receive(records(1, 2, 3));
  log.endReading();
  expect(events).toEqual([1, "caught up", 2, 3]);
  log.noteMissing("never stored");
  await log.begin();
  await log.receive(records(3, 4));
  log.endReading();
  expect(events).toEqual([1, "caught up", 2, 3, 4, "lost"]);
});
