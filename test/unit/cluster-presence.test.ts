import { expect, test } from "bun:test";
import fc from "fast-check";
import { beatMs, graceMs, Room, roomOf } from "../support/presence-room.ts";

test("every instance knows the users of all instances", async () => {
  const room = await roomOf("a", "b", "c");
  room.open("a", "anna");
  room.open("b", "bert");
  room.open("c", "anna");
  await room.pass(1_000);
  for (const node of ["a", "b", "c"]) expect(room.online(node)).toEqual(["anna", "bert"]);
  room.close("a", "anna");
  await room.pass(1_000);
  expect(room.online("b")).toEqual(["anna", "bert"]);
  room.close("c", "anna");
  await room.pass(1_000);
  expect(room.online("b")).toEqual(["bert"]);
});

test("an instance that starts later gets the whole list", async () => {
  const room = await roomOf("a");
  for (let user = 0; user < 5_000; user++) room.open("a", `user-${user}`);
  await room.pass(1_000);
  room.start("b");
  await room.pass(2_000);
  expect(room.online("b")).toHaveLength(5_000);
});

test("a dead instance is evicted within three beats, and its users are reported offline once", async () => {
  const room = await roomOf("a", "b", "c");
  room.open("a", "anna");
  room.open("b", "bert");
  room.open("b", "anna");
  await room.pass(1_000);
  expect(room.events).toEqual(["online anna", "online bert"]);
  room.kill("b");
  await room.pass(3 * beatMs);
  expect(room.online("a")).toEqual(["anna"]);
  expect(room.online("c")).toEqual(["anna"]);
  await room.pass(graceMs + 1_000);
  expect(room.events).toEqual(["online anna", "online bert", "offline bert"]);
});

test("an instance that ends in order is removed at once", async () => {
  const room = await roomOf("a", "b");
  room.open("b", "bert");
  await room.pass(1_000);
  await room.nodes.get("b")?.presence.leave();
  room.kill("b");
  expect(room.online("a")).toEqual([]);
  await room.pass(graceMs + 1_000);
  expect(room.events).toEqual(["online bert", "offline bert"]);
});

test("the last instance that ends in order reports all users offline, also those within the grace period", async () => {
  const room = await roomOf("a", "b");
  room.open("a", "anna");
  room.open("b", "bert");
  room.open("b", "ben");
  await room.pass(2 * beatMs);
  await room.nodes.get("a")?.presence.leave();
  room.kill("a");
  expect(room.events).toEqual(["online anna", "online bert", "online ben"]);
  room.close("b", "ben");
  await room.nodes.get("b")?.presence.leave();
  room.kill("b");
  expect(room.events.slice(3).sort()).toEqual(["offline anna", "offline ben", "offline bert"]);
});

test("of instances that end at the same moment, one reports the users offline", async () => {
  const room = await roomOf("a", "b", "c");
  for (const node of room.nodes.keys()) room.open(node, `user-${node}`);
  await room.pass(1_000);
  for (const node of room.nodes.keys()) room.close(node, `user-${node}`);
  await Promise.all([...room.nodes.values()].map(({ presence }) => presence.leave()));
  expect(room.events.toSorted()).toEqual([
    "offline user-a",
    "offline user-b",
    "offline user-c",
    "online user-a",
    "online user-b",
    "online user-c",
  ]);
});

test("an instance that ends hands its reports over, also to an instance that it does not know yet", async () => {
  const room = await roomOf("a");
  room.open("a", "anna");
  await room.pass(1_000);
  room.start("b");
  room.open("b", "anna");
  room.nodes.get("b")?.presence.tick(room.clock.now());
  await room.nodes.get("a")?.presence.leave();
  room.kill("a");
  await room.pass(4 * beatMs);
  expect(room.events).toEqual(["online anna"]);
});

test("an instance that ends before it can know whether it is alone reports nothing", async () => {
  const room = new Room();
  room.start("a");
  room.open("a", "anna");
  await room.pass(1_000);
  await room.nodes.get("a")?.presence.leave();
  expect(room.events).toEqual([]);
});

test("a restart with the same name replaces the list of the earlier process", async () => {
  const room = await roomOf("a", "b");
  room.open("b", "bert");
  room.open("b", "ben");
  await room.pass(1_000);
  room.kill("b");
  room.start("b");
  room.open("b", "bert");
  await room.pass(1_000);
  expect(room.online("a")).toEqual(["bert"]);
  await room.pass(graceMs + 1_000);
  expect(room.events).toEqual(["online bert", "online ben", "offline ben"]);
});

test("while the queue is not available no instance is evicted, and afterwards all agree again", async () => {
  const room = await roomOf("a", "b");
  room.open("a", "anna");
  room.open("b", "bert");
  await room.pass(1_000);
  room.isLineUp = false;
  room.canTell = false;
  room.open("a", "alex");
  room.close("b", "bert");
  await room.pass(10 * beatMs);
  expect(room.online("a")).toEqual(["alex", "anna", "bert"]);
  room.isLineUp = true;
  room.canTell = true;
  await room.pass(3 * beatMs);
  expect(room.online("a")).toEqual(["alex", "anna"]);
  expect(room.online("b")).toEqual(["alex", "anna"]);
  expect(room.events).toEqual(["online anna", "online bert", "online alex", "offline bert"]);
});

test.each(["a", "b"])(
  "%s, cut off so long that the others gave it up, comes back, and its users are reported online again",
  async (cut) => {
    const room = await roomOf("a", "b");
    room.open(cut, "anna");
    room.open(cut === "a" ? "b" : "a", "bert");
    await room.pass(2 * beatMs);
    room.cutOff.add(cut);
    room.open(cut === "a" ? "b" : "a", "eva");
    await room.pass(6 * beatMs);
    expect(room.lastTold()).toEqual(
      new Map([
        ["anna", "offline"],
        ["bert", "online"],
        ["eva", "online"],
      ]),
    );
    room.cutOff.delete(cut);
    await room.pass(4 * beatMs);
    expect(room.lastTold().get("anna")).toBe("online");
    for (const event of ["online bert", "online eva", "offline anna"])
      expect(room.events.filter((told) => told === event)).toHaveLength(1);
  },
);

test("instances that start before the queue is available report online users once", async () => {
  const room = new Room();
  room.isLineUp = false;
  room.start("a");
  room.start("b");
  room.open("b", "bert");
  await room.pass(4 * beatMs);
  room.isLineUp = true;
  await room.pass(3 * beatMs);
  expect(room.events).toEqual(["online bert"]);
});

test("a move to another instance within the grace period causes no event", async () => {
  const room = await roomOf("a", "b");
  room.open("a", "anna");
  await room.pass(1_000);
  room.close("a", "anna");
  await room.pass(2_000);
  room.open("b", "anna");
  await room.pass(4 * beatMs);
  expect(room.events).toEqual(["online anna"]);
});

test("a stay between two announcements is reported offline also if its instance is cut off at once", async () => {
  const room = await roomOf("a", "b", "c");
  room.open("a", "anna");
  room.close("a", "anna");
  await room.pass(500);
  room.cutOff.add("a");
  await room.pass(4 * beatMs);
  room.cutOff.clear();
  await room.pass(5 * beatMs + graceMs);
  expect(room.lastTold().get("anna")).toBe("offline");
});

test("an idle cluster sends one note per instance and beat", async () => {
  const room = await roomOf("a", "b");
  room.said = [];
  await room.pass(10 * beatMs);
  expect(room.said.length).toBeLessThanOrEqual(22);
});

test("whatever happens and is lost, all views agree in the end, and the last event is true", async () => {
  const step = fc.record({
    node: fc.constantFrom("a", "b", "c"),
    userId: fc.constantFrom("u1", "u2", "u3", "u4"),
    what: fc.constantFrom("open", "close", "cut", "mend", "cut off", "join", "wait", "wait long"),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: "max" }), async (steps) => {
      const room = await roomOf("a", "b", "c");
      for (const { node, userId, what } of steps) {
        if (what === "open") room.open(node, userId);
        if (what === "close" && (room.nodes.get(node)?.here.get(userId) ?? 0) > 0) room.close(node, userId);
        if (what === "cut" || what === "mend") room.isLineUp = what === "mend";
        // One at a time, and the next when the last one is back, because one instance must keep the reports.
        if (what === "cut off" && room.cutOff.size === 0) room.cutOff.add(node);
        if (what === "join" && room.cutOff.delete(node)) await room.pass(3 * beatMs);
        if (what === "wait") await room.pass(500);
        if (what === "wait long") await room.pass(4 * beatMs);
      }
      room.isLineUp = true;
      room.cutOff.clear();
      await room.pass(5 * beatMs + graceMs);
      const all = [...room.nodes.values()].flatMap(({ here }) =>
        [...here].filter(([, count]) => count > 0).map(([userId]) => userId),
      );
      const expected = [...new Set(all)].sort();
      for (const node of ["a", "b", "c"]) expect(room.online(node)).toEqual(expected);
      const told = [...room.lastTold()].filter(([, type]) => type === "online").map(([userId]) => userId);
      expect(told.sort()).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});

test("an instance whose clock was set back before its restart is known at once, and nothing is reported twice", async () => {
  const room = await roomOf("a", "b");
  room.open("a", "anna");
  room.open("b", "bert");
  await room.pass(1_000);
  room.kill("a");
  room.start("a", -3_600_000);
  room.open("a", "anna");
  room.open("a", "carl");
  await room.pass(1_000);
  expect(room.online("b")).toEqual(["anna", "bert", "carl"]);
  await room.pass(6 * beatMs);
  expect(room.online("b")).toEqual(["anna", "bert", "carl"]);
  expect(room.events.sort()).toEqual(["online anna", "online bert", "online carl"]);
});

test("late notes of an earlier process of an instance are ignored", async () => {
  const room = await roomOf("a", "b");
  room.open("a", "anna");
  await room.pass(1_000);
  const note = room.said.findLast(({ node, kind }) => node === "a" && kind === "delta");
  room.kill("a");
  room.start("a", -3_600_000);
  await room.pass(1_000);
  if (!note) throw new Error("The earlier process has sent no note.");
  room.nodes.get("b")?.presence.receive(note);
  room.open("a", "carl");
  await room.pass(500);
  expect(room.online("b")).toEqual(["carl"]);
});
