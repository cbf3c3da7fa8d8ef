import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ResumeRing } from "../../src/push/fanout/resume-ring.ts";
import type { BroadcastMessage } from "../../src/push/message/message.ts";

function message(id: string): BroadcastMessage {
  return { v: 1, id, seq: 0, ts: 0, node: "n", targetType: "all", target: "", data: id };
}

const options = { maxMessages: 5, maxBytes: 50, maxAgeMs: 100, overlapMs: 0, originId: "start" };

describe("resume ring", () => {
  test("`recovered` is true only if every message after the resumed one is replayed, in order", () => {
    const events = fc.array(
      fc.oneof(
        fc.record({ add: fc.integer({ min: 1, max: 30 }) }),
        fc.record({ wait: fc.integer({ min: 1, max: 60 }) }),
        fc.constant({ leave: true as const }),
        fc.constant({ pass: true as const }),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(events, (steps) => {
        const ring = new ResumeRing(options);
        const all: string[] = [];
        let now = 0;
        /** A client that left: the id to resume from, and how many messages it had received. */
        const left: { id: string; received: number }[] = [{ id: ring.lastId, received: 0 }];
        for (const step of steps) {
          if ("add" in step) {
            all.push(`m${all.length}`);
            ring.add(message(all.at(-1) ?? ""), step.add, now);
          } else if ("pass" in step) {
            all.push("passed");
            ring.skip(now);
          } else if ("wait" in step) now += step.wait;
          else left.push({ id: ring.lastId, received: all.length });
          expect(ring.size).toBeLessThanOrEqual(options.maxMessages);
          for (const { id, received } of left) {
            const { from, isComplete } = ring.find(id, now);
            const replayed = Array.from({ length: ring.end - from }, (_, at) => ring.at(from + at)?.id);
            if (isComplete) expect(replayed).toEqual(all.slice(received));
            else expect(replayed).toEqual([]);
          }
        }
      }),
    );
  });

  test("after a gap a resume from an older message is incomplete", () => {
    const ring = new ResumeRing(options);
    const empty = ring.lastId;
    ring.skip(0);
    expect(ring.find(empty, 0).isComplete).toBe(false);
    expect(ring.find(ring.lastId, 0).isComplete).toBe(true);
    ring.add(message("a"), 1, 0);
    ring.skip(0);
    expect(ring.find("a", 0).isComplete).toBe(false);
    const between = ring.lastId;
    ring.add(message("b"), 1, 0);
    expect(ring.find("a", 0).isComplete).toBe(false);
    expect(ring.find(between, 0)).toEqual({ from: ring.end - 1, isComplete: true });
    expect(ring.find("b", 0).isComplete).toBe(true);
  });

  test("with an overlap a gap also affects later messages within the overlap, because the order may differ elsewhere", () => {
    const ring = new ResumeRing({ ...options, overlapMs: 10 });
    ring.skip(100);
    ring.add(message("a"), 1, 110);
    ring.add(message("b"), 1, 111);
    expect(ring.find("a", 111).isComplete).toBe(false);
    expect(ring.find("b", 111).isComplete).toBe(true);
  });

  test("with an overlap the replay starts before the resumed id, and is complete only if the ring reaches that far", () => {
    const ring = new ResumeRing({ ...options, overlapMs: 10 });
    for (const [index, id] of ["a", "b", "c", "d"].entries()) ring.add(message(id), 1, index * 8);
    expect(ring.find("d", 24)).toEqual({ from: 2, isComplete: true });
    for (const id of ["e", "f", "g"]) ring.add(message(id), 1, 26);
    expect(ring.find("d", 26).isComplete).toBe(true);
    expect(ring.find("c", 26).isComplete).toBe(false);
  });

  test("old messages are dropped, except the newest of them and its overlap", () => {
    const ring = new ResumeRing({ ...options, overlapMs: 10 });
    for (const [id, at] of Object.entries({ a: 0, b: 15, c: 20 })) ring.add(message(id), 1, at);
    ring.dropOld(1000);
    expect(ring.size).toBe(2);
    ring.add(message("d"), 1, 1000);
    expect(ring.find("c", 1000)).toEqual({ from: 1, isComplete: true });
    expect(ring.find("a", 1000).isComplete).toBe(false);
    ring.dropOld(1101);
    expect(ring.size).toBe(1);
  });
});
