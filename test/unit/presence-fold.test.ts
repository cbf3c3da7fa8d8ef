import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { PresenceFold } from "../../src/push/presence/presence-fold.ts";
import { type PresenceReport, presentName } from "../../src/push/presence/presence-record.ts";
import { applyAll, restoreFrom } from "../../src/push/presence/presence-snapshot.ts";
import { pick } from "../support/length.ts";
import {
  foldOptions,
  graceMs,
  History,
  historyStep,
  PresenceLog,
  user,
} from "../support/presence-history.ts";

function eventsOf(reports: readonly PresenceReport[], userId: string): string[] {
  return reports.filter((report) => report.userId === userId).map(({ type }) => type);
}

describe("presence as a function of the log", () => {
  test("online with the first connection, offline after the grace, nothing for a return within it", () => {
    const log = new PresenceLog();
    log.append("a", { kind: "started" });
    log.append("a", { kind: "changes", joined: [user("ann")], left: [] });
    log.append("a", { kind: "changes", joined: [], left: [user("ann")] });
    log.now += graceMs - 1;
    log.append("a", { kind: "changes", joined: [user("ann")], left: [] });
    log.append("a", { kind: "changes", joined: [], left: [user("ann")] });
    expect(eventsOf(log.reports, "ann")).toEqual(["online"]);
    expect(log.fold.users()).toEqual([]);
    log.now += graceMs;
    log.append("a", { kind: "beat" });
    expect(log.reports.map(({ type, cause }) => [type, cause])).toEqual([
      ["online", "r1"],
      ["offline", "r4"],
    ]);
  });

  test("the time of the log does not go back with a clock that is behind", () => {
    const log = new PresenceLog();
    log.append("a", { kind: "started" });
    log.append("a", { kind: "changes", joined: [user("ann")], left: [] });
    log.now -= 60_000;
    log.append("b", { kind: "started" });
    log.append("b", { kind: "list", part: 0, parts: 1, names: [] });
    log.append("a", { kind: "changes", joined: [], left: [user("ann")] });
    log.now += 60_000 + graceMs - 1;
    log.append("a", { kind: "beat" });
    expect(eventsOf(log.reports, "ann")).toEqual(["online"]);
    log.now += 1;
    log.append("a", { kind: "beat" });
    expect(eventsOf(log.reports, "ann")).toEqual(["online", "offline"]);
  });

  test("events that are not written survive a log that is created again", () => {
    const log = new PresenceLog();
    log.append("a", { kind: "started" });
    log.append("a", { kind: "beat" });
    log.append("a", { kind: "changes", joined: [user("ann")], left: [] });
    const { fold } = log;
    const again = { process: "a", instance: "a", at: log.now };
    fold.apply(0, "n0", { ...again, kind: "changes", joined: [user("bob")], left: [] });
    expect(fold.unwritten("queue").map(({ userId }) => userId)).toEqual(["ann", "bob"]);
    fold.apply(1, "n1", { ...again, kind: "reported", to: "queue", upTo: 0 });
    expect(fold.unwritten("queue")).toEqual([]);
  });

  test("a name that came and left between two records is reported", () => {
    const log = new PresenceLog();
    log.append("a", { kind: "started" });
    log.append("a", { kind: "changes", joined: [user("ann")], left: [user("ann")] });
    log.now += graceMs;
    log.append("a", { kind: "beat" });
    expect(eventsOf(log.reports, "ann")).toEqual(["online", "offline"]);
  });

  test("an evict is ignored if a newer record of the process precedes it; after a valid one only a whole list counts", () => {
    const log = new PresenceLog();
    const seen = log.append("a", { kind: "started" });
    log.append("b", { kind: "started" });
    const changed = log.append("a", { kind: "changes", joined: [user("ann")], left: [] });
    log.append("b", { kind: "evict", evicted: "a", seen });
    expect(log.fold.users()).toEqual(["ann"]);
    log.append("b", { kind: "evict", evicted: "a", seen: changed });
    expect([log.fold.users(), log.fold.has("a"), log.fold.reporter]).toEqual([[], false, "b"]);
    log.append("a", { kind: "changes", joined: [user("bob")], left: [] });
    log.append("a", { kind: "list", part: 1, parts: 2, names: [user("cid")] });
    expect([log.fold.users(), log.fold.has("a")]).toEqual([[], false]);
    log.append("a", { kind: "list", part: 0, parts: 2, names: [user("ann")] });
    log.append("a", { kind: "list", part: 1, parts: 2, names: [user("bob")] });
    expect([log.fold.users(), log.fold.reporter]).toEqual([["ann", "bob"], "b"]);
  });

  test("the last process that ends takes everybody offline at once", () => {
    const log = new PresenceLog();
    for (const process of ["a", "b"]) log.append(process, { kind: "started" });
    log.append("a", { kind: "changes", joined: [user("ann")], left: [] });
    log.append("a", { kind: "ended" });
    expect(eventsOf(log.reports, "ann")).toEqual(["online"]);
    log.append("b", { kind: "ended" });
    expect(eventsOf(log.reports, "ann")).toEqual(["online", "offline"]);
  });

  test("members of channels are no events; notices have the same grace", () => {
    const log = new PresenceLog();
    const member = presentName("presence-room", "ann");
    log.append("a", { kind: "started" });
    log.append("a", { kind: "changes", joined: [member], left: [] });
    expect(log.fold.users("presence-room")).toEqual(["ann"]);
    log.append("a", { kind: "changes", joined: [], left: [member] });
    expect(log.fold.users("presence-room")).toEqual([]);
    log.now += graceMs;
    log.append("a", { kind: "beat" });
    const notice = { channel: "presence-room", userId: "ann" };
    expect(log.fold.takeNotices()).toEqual([
      { type: "joined", ...notice },
      { type: "left", ...notice },
    ]);
    expect(log.reports).toEqual([]);
  });

  test("push.events-uri also gets users in channels and channels as a whole; each destination has its own end", () => {
    const fold = new PresenceFold({ ...foldOptions, destinations: ["queue", "uri"] });
    const head = { process: "a", instance: "a", at: 0 };
    const names = [user("ann"), presentName("presence-room", "ann"), presentName("presence-room", "")];
    fold.apply(0, "r0", { ...head, kind: "started" });
    fold.apply(1, "r1", { ...head, kind: "changes", joined: [...names, user("slipway:1")], left: [] });
    const subjects = (to: "queue" | "uri") =>
      fold.unwritten(to).map(({ channel, userId }) => presentName(channel, userId));
    expect([subjects("queue"), subjects("uri")]).toEqual([[user("ann")], names]);
    expect(fold.users("presence-room")).toEqual(["ann"]);
    expect(fold.takeNotices()).toEqual([{ type: "joined", channel: "presence-room", userId: "ann" }]);
    fold.apply(2, "r2", { ...head, kind: "reported", to: "queue", upTo: 1 });
    expect([subjects("queue"), subjects("uri")]).toEqual([[], names]);
    const late = new PresenceFold({ ...foldOptions, destinations: ["uri"] });
    const { offset, state } = fold.snapshot();
    late.restore(offset, state);
    expect(late.unwritten("uri")).toEqual(fold.unwritten("uri"));
  });

  test("more events than can wait: the oldest are left out and counted", () => {
    const fold = new PresenceFold(foldOptions);
    const head = { process: "a", instance: "a", at: 0 };
    fold.apply(0, "r0", { ...head, kind: "started" });
    const joined = Array.from({ length: 100_001 }, (_, index) => user(`u${index}`));
    fold.apply(1, "r1", { ...head, kind: "changes", joined, left: [] });
    const kept = fold.unwritten("queue");
    expect([kept.length, kept.at(-1)?.userId]).toEqual([90_000, "u100000"]);
    expect([...fold.takeLeftOut()]).toEqual([["queue", 10_001]]);
    expect([...fold.takeLeftOut()]).toEqual([]);
  });

  test("while events cannot be written, those of short stays are left out; the rest alternates and its end is true", () => {
    const fold = new PresenceFold(foldOptions);
    const head = { process: "a", instance: "a" };
    fold.apply(0, "r0", { ...head, at: 0, kind: "started" });
    for (let turn = 1; turn <= 120_001; turn++) {
      const joined = turn % 2 === 1 ? [user("ann")] : [];
      const left = turn % 2 === 1 ? [] : [user("ann")];
      fold.apply(turn, `r${turn}`, { ...head, at: turn * graceMs, kind: "changes", joined, left });
    }
    expect(fold.unwritten("queue").length).toBeLessThanOrEqual(100_000);
    const types = fold.unwritten("queue").map(({ type }) => type);
    expect(types.every((type, index) => type !== types[index - 1])).toBe(true);
    expect(types.at(-1)).toBe("online");
    // The first one may have been written already.
    expect(fold.unwritten("queue")[0]?.cause).toBe("r1");
  });
});

test("generated histories: events alternate, the last one is true, repeats have one id, every instance agrees", () => {
  const histories = fc.array(historyStep, { minLength: 20, maxLength: 80 });
  fc.assert(
    fc.property(histories, fc.nat(100), (steps, startAt) => {
      const history = new History();
      history.play(steps);
      history.settle();
      const { log } = history;
      for (const userId of ["u0", "u1", "u2"]) {
        const events = eventsOf(log.reports, userId);
        for (const [index, type] of events.entries())
          expect(type).toBe(index % 2 === 0 ? "online" : "offline");
        expect(events.at(-1) === "online").toBe(history.online.has(userId));
      }
      expect(new Set(log.fold.users())).toEqual(history.online);
      // The id of an event is its cause; no two events of a user in one direction have the same.
      const ids = log.reports.map(({ type, userId, cause }) => `${type} ${userId} ${cause}`);
      expect(new Set(ids).size).toBe(ids.length);
      for (const report of history.written) expect(log.reports).toContainEqual(report);
      // An instance that starts later reads from some record on, and has the same state if there is a snapshot.
      const first = Math.min(startAt, log.records.length - 1);
      const late = new PresenceFold(foldOptions);
      if (restoreFrom(structuredClone(log.records.slice(first)), late))
        expect(late.snapshot()).toEqual(log.fold.snapshot());
      const early = new PresenceFold(foldOptions);
      applyAll(log.records, early);
      expect(early.unwritten("queue")).toEqual(log.fold.unwritten("queue"));
    }),
    { numRuns: pick(5_000, 100_000) },
  );
});

test("two hours with 10,000 users: the state does not grow with time", () => {
  const log = new PresenceLog();
  const users = Array.from({ length: 10_000 }, (_, index) => user(`user-${index}`));
  log.append("a", { kind: "started" });
  log.append("b", { kind: "started" });
  const listed = log.append("a", { kind: "list", part: 0, parts: 1, names: users });
  log.append("a", { kind: "reported", to: "queue", upTo: listed });
  const sizeOf = () => JSON.stringify(log.fold.snapshot()).length;
  const first = sizeOf();
  for (let minute = 0; minute < 120; minute++) {
    const moving = users.slice((minute * 500) % 10_000, ((minute * 500) % 10_000) + 500);
    log.append("a", { kind: "changes", joined: [], left: moving });
    log.append("b", { kind: "changes", joined: moving, left: [] });
    log.append("b", { kind: "changes", joined: [], left: moving });
    log.append("a", { kind: "changes", joined: moving, left: [] });
    log.now += 60_000;
    log.append("a", { kind: "reported", to: "queue", upTo: log.records.length });
  }
  expect(log.fold.userCount()).toBe(10_000);
  expect(log.fold.unwritten("queue")).toEqual([]);
  expect(sizeOf()).toBeLessThan(first + 1_000);
  expect(first).toBeLessThan(200_000);
});
