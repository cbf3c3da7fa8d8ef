import { expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { Reporter, type ReporterParts } from "../../src/push/presence/reporter.ts";

const limit = 100_000;
const perStep = 2_000;

function startReporter(publishEvent: ReporterParts["publishEvent"]) {
  const clock = manualClock();
  const online = new Set<string>();
  const reporter: Reporter = new Reporter({
    isOnline: (userId) => online.has(userId),
    publishEvent,
    announce: async (lists) => reporter.receive(lists, true),
    clock,
    steady: clock,
    graceMs: 0,
    retryMs: 0,
  });
  const come = (userId: string) => {
    online.add(userId);
    reporter.appeared(userId);
  };
  const go = (userId: string) => {
    online.delete(userId);
    reporter.vanished(userId);
  };
  const step = async () => {
    clock.advance(250);
    reporter.tick(clock.now());
    reporter.report();
    await Bun.sleep(0);
  };
  return { reporter, come, go, step };
}

/** More users than may wait for their reports. */
async function manyComeAndGo({
  come,
  go,
  step,
}: Pick<ReturnType<typeof startReporter>, "come" | "go" | "step">) {
  const guests = Array.from({ length: limit + 3 * perStep }, (_, number) => `guest-${number}`);
  for (let first = 0; first < guests.length; first += perStep) {
    const arriving = guests.slice(first, first + perStep);
    arriving.forEach(come);
    await step();
    arriving.forEach(go);
  }
  await step();
  await step();
  return guests;
}

test("while events cannot be published, the number of waiting events is limited, and no user who was reported online is forgotten", async () => {
  const events: string[] = [];
  let canPublish = true;
  const { reporter, come, go, step } = startReporter(async (type, userId) => {
    if (!canPublish) throw new Error("the queue refuses events");
    events.push(`${type} ${userId}`);
  });

  come("anna");
  come("bert");
  await step();
  canPublish = false;
  go("anna");
  go("bert");
  await step();
  come("bert");
  const guests = await manyComeAndGo({ come, go, step });
  expect(reporter.reports.announcedCount).toBeLessThanOrEqual(limit);
  expect(events).toEqual(["online anna", "online bert"]);

  come("guest-0");
  canPublish = true;
  const last = guests.at(-1) ?? "";
  while (!events.includes("online guest-0") || !events.includes(`offline ${last}`)) await step();
  const eventsOf = (user: string) => events.filter((event) => event.endsWith(` ${user}`));
  expect(eventsOf("anna")).toEqual(["online anna", "offline anna"]);
  expect(eventsOf("bert")).toEqual(["online bert", "offline bert", "online bert"]);
  expect(eventsOf("guest-0")).toEqual(["online guest-0"]);
  expect(eventsOf("guest-1000")).toEqual([]);
  expect(eventsOf(last)).toEqual([`online ${last}`, `offline ${last}`]);
});

test("a user whose online event was written although its publish failed is reported offline", async () => {
  const events: string[] = [];
  let canPublish = false;
  let isWritten = true;
  const { reporter, come, go, step } = startReporter(async (type, userId) => {
    if (canPublish || isWritten) events.push(`${type} ${userId}`);
    if (!canPublish) throw new Error("the connection to it was lost");
  });

  const early = Array.from({ length: 10 }, (_, number) => `early-${number}`);
  early.forEach(come);
  await step();
  await step();
  isWritten = false;
  expect(new Set(events)).toEqual(new Set(early.map((userId) => `online ${userId}`)));
  early.forEach(go);
  const guests = await manyComeAndGo({ come, go, step });
  expect(reporter.reports.announcedCount).toBeLessThanOrEqual(limit);

  canPublish = true;
  const last = guests.at(-1) ?? "";
  while (!events.includes(`offline ${last}`)) await step();
  for (const userId of early)
    expect(events.findLast((event) => event.endsWith(` ${userId}`))).toBe(`offline ${userId}`);
});
