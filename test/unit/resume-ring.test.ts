import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ResumeRing } from "../../src/push/fanout/resume-ring.ts";
import type { PushedMessage } from "../../src/push/message/message.ts";
import { positionOf } from "../../src/push/message/position.ts";

function message(offset: number): PushedMessage {
  const head = { id: `m${offset}`, ts: 0, idempotencyKey: undefined, caller: "", ageMs: 0, receivers: 0 };
  return { ...head, targetType: "all", target: "", data: "", ack: false, trace: null, offset };
}

/** Room for five short records. */
const options = { maxBytes: 5 * 450, maxAgeMs: 100 };

/** Messages from `from` on. */
function replayOf(ring: ResumeRing, from: number): string[] {
  const all = Array.from({ length: ring.end - from }, (_, at) => ring.at(from + at));
  return all.flatMap((each) => (each ? [each.id] : []));
}

describe("resume ring", () => {
  test("a resume is complete exactly if every message after the position is in the ring, and replays these in order", () => {
    const events = fc.array(
      fc.oneof(
        fc.record({ add: fc.integer({ min: 1, max: 30 }), jump: fc.integer({ min: 1, max: 3 }) }),
        fc.record({ mark: fc.integer({ min: 1, max: 3 }) }),
        fc.record({ wait: fc.integer({ min: 1, max: 60 }) }),
        fc.constant({ lose: true as const }),
        fc.constant({ skip: true as const }),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(events, (steps) => {
        const ring = new ResumeRing(options);
        let now = 0;
        let offset = 0;
        /** All positions that a client may have, with the messages that follow; null: some were lost. */
        let clients: { position: string; id: string; missed: string[] | null }[] = [];
        const note = (id: string) => clients.push({ position: positionOf(offset, id), id, missed: [] });
        for (const step of steps) {
          if ("add" in step) {
            offset += step.jump;
            for (const { missed } of clients) missed?.push(`m${offset}`);
            ring.add(message(offset), step.add, now);
            note(`m${offset}`);
          } else if ("mark" in step) {
            offset += step.mark;
            ring.addMarker(offset, `marker${offset}`, now);
            note(`marker${offset}`);
          } else if ("wait" in step) now += step.wait;
          else if ("skip" in step) {
            ring.skip({ offset: ++offset, id: `m${offset}` });
            clients = clients.map((client) => ({ ...client, missed: null }));
            note(`m${offset}`);
          } else {
            ring.clear();
            clients = clients.map((client) => ({ ...client, missed: null }));
          }
          expect(ring.size).toBeLessThanOrEqual(5);
          expect(ring.bytes).toBeLessThanOrEqual(options.maxBytes);
          for (const { position, id, missed } of clients)
            for (const resume of [position, id]) {
              const point = ring.find(resume, now);
              if (point === null) expect(ring.lastOffset).toBe(-1);
              else if (point.isComplete) expect(replayOf(ring, point.from)).toEqual(missed ?? ["lost"]);
              else expect(point.from).toBe(ring.end);
            }
          const newest = clients.at(-1);
          // The newest position can always be resumed, however old it is.
          if (newest?.missed) expect(ring.find(newest.position, now)?.isComplete).toBe(true);
        }
      }),
    );
  });

  test("a position beyond the newest record is one that is still to be read", () => {
    const ring = new ResumeRing(options);
    ring.add(message(7), 1, 0);
    expect(ring.find(positionOf(8, "m8"), 0)).toBeNull();
    ring.add(message(8), 1, 0);
    expect(ring.find(positionOf(8, "m8"), 0)).toEqual({ from: 2, isComplete: true });
  });

  test("an id that looks like a position is found", () => {
    const ring = new ResumeRing(options);
    ring.add({ ...message(7), id: "order.7" }, 1, 0);
    expect(ring.find("order.7", 0)).toEqual({ from: 1, isComplete: true });
  });

  test("another record at the same offset is of a log that was created again", () => {
    const ring = new ResumeRing(options);
    ring.add(message(7), 1, 0);
    expect(ring.find(positionOf(7, "other"), 0)?.isComplete).toBe(false);
  });

  test("the position of a dropped message can be resumed while all later ones are there", () => {
    const ring = new ResumeRing(options);
    for (let offset = 1; offset <= 6; offset++) ring.add(message(offset), 1, 0);
    expect(ring.find(positionOf(1, "m1"), 0)).toEqual({ from: 1, isComplete: true });
    ring.add(message(7), 1, 0);
    expect(ring.find(positionOf(1, "m1"), 0)?.isComplete).toBe(false);
  });

  test("records that clients do not get count too, and without bytes nothing is kept", () => {
    const ring = new ResumeRing(options);
    for (let offset = 1; offset <= 1_000; offset++) ring.addMarker(offset, `marker${offset}`, 0);
    expect(ring.bytes).toBeLessThanOrEqual(options.maxBytes);
    expect(ring.find(positionOf(1, "marker1"), 0)?.isComplete).toBe(false);
    const none = new ResumeRing({ ...options, maxBytes: 0 });
    none.add(message(1), 1, 0);
    none.add(message(2), 1, 0);
    expect([none.size, none.bytes]).toEqual([0, 0]);
    expect(none.find(positionOf(1, "m1"), 0)?.isComplete).toBe(false);
    expect(none.find(positionOf(2, "m2"), 0)?.isComplete).toBe(true);
  });
});
