import { afterEach, expect, test } from "bun:test";
import { InFlight, type InFlightOptions } from "../../src/bus/in-flight.ts";
import { manualClock } from "../../src/clock.ts";
import { Fault } from "../../src/errors.ts";
import { eventually } from "../support/eventually.ts";

const made: InFlight[] = [];

afterEach(() => {
  for (const inFlight of made.splice(0)) inFlight.stop();
});

function build(options: Partial<InFlightOptions> = {}) {
  const clock = manualClock();
  let silences = 0;
  const inFlight = new InFlight({
    maxCount: 2,
    maxBytes: 100,
    deadlineMs: 4_000,
    clock,
    onSilence: () => {
      silences += 1;
    },
    ...options,
  });
  made.push(inFlight);
  return { inFlight, clock, silences: () => silences };
}

const forEver = () => new Promise<void>(() => {});

async function faultOf(publishing: Promise<void>): Promise<Fault> {
  const cause = await publishing.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(cause instanceof Fault)) throw new Error(`Expected a Fault, got ${cause}.`);
  return cause;
}

test("a publish over the limit of messages or bytes is refused at once", async () => {
  const { inFlight } = build();
  void inFlight.run(10, forEver);
  expect(inFlight.isFull).toBe(false);
  void inFlight.run(10, forEver);
  expect(inFlight.isFull).toBe(true);
  expect((await faultOf(inFlight.run(10, forEver))).code).toBe("unavailable");
  expect(inFlight.count).toBe(2);
  const { inFlight: bytes } = build();
  void bytes.run(100, forEver);
  expect((await faultOf(bytes.run(1, forEver))).message).toContain("1 messages already wait");
});

test("a message larger than the limit is accepted alone", async () => {
  const { inFlight } = build();
  await inFlight.run(1_000, async () => {});
});

test("a publish that is not confirmed in time is refused, and the silence is reported", async () => {
  const { inFlight, clock, silences } = build();
  const late = faultOf(inFlight.run(10, forEver));
  clock.advance(4_001);
  const drained = inFlight.drained();
  expect((await late).message).toContain("no confirmation within 4 s");
  await drained;
  expect(silences()).toBeGreaterThan(0);
  expect(inFlight.count).toBe(1);
});

test("one slow confirmation among others is not a silence", async () => {
  const { inFlight, clock, silences } = build();
  const late = faultOf(inFlight.run(10, forEver));
  clock.advance(2_000);
  await inFlight.run(10, async () => {});
  clock.advance(2_001);
  await late;
  expect(silences()).toBe(0);
});

test("after activity the broker counts as silent only after another deadline", async () => {
  const { inFlight, clock, silences } = build();
  const blocked = faultOf(inFlight.run(10, forEver));
  clock.advance(3_999);
  inFlight.noteResumed();
  clock.advance(2);
  await blocked;
  expect(silences()).toBe(0);
  const late = faultOf(inFlight.run(10, forEver));
  clock.advance(4_001);
  await late;
  expect(silences()).toBeGreaterThan(0);
});

test("when the session is lost, all publishes are refused and none is counted", async () => {
  const { inFlight } = build();
  const lost = faultOf(inFlight.run(10, forEver));
  const drained = inFlight.drained();
  inFlight.rejectAll("the connection to it was lost");
  expect((await lost).message).toBe("The message queue is not available: the connection to it was lost.");
  await drained;
  expect(inFlight.count).toBe(0);
});

test("the result of the broker is passed on, a Fault unchanged", async () => {
  const { inFlight } = build();
  const refuse = (cause: Error) => faultOf(inFlight.run(10, () => Promise.reject(cause)));
  expect((await refuse(new Fault("invalid", "Too large."))).code).toBe("invalid");
  expect((await refuse(new Error("NACK"))).message).toContain("NACK");
  await eventually("nothing is left", () => inFlight.count === 0);
});

test("a log that confirms nothing is silent, although another log and a later topic are confirmed", async () => {
  const { inFlight, clock, silences } = build({ maxCount: 10 });
  const late = faultOf(inFlight.run(1, forEver, "broadcast"));
  clock.advance(2_000);
  await inFlight.run(1, async () => {}, "control");
  await inFlight.run(1, async () => {});
  clock.advance(3_000);
  await late;
  await eventually("the silence is reported", () => silences() > 0);
});

test("a topic that confirms nothing is not silence while others are confirmed", async () => {
  const { inFlight, clock, silences } = build({ maxCount: 10 });
  const late = faultOf(inFlight.run(1, forEver));
  clock.advance(2_000);
  await inFlight.run(1, async () => {}, "control");
  clock.advance(3_000);
  await late;
  expect(silences()).toBe(0);
});
