import { expect, test } from "bun:test";
import { beatMs, graceMs, Room, roomOf } from "../support/presence-room.ts";

test("when the reporting instance dies, the next one repeats the events that may be missing", async () => {
  const room = await roomOf("a", "b", "c");
  room.open("b", "bert");
  await room.pass(1_000);
  room.open("a", "anna");
  await room.pass(500);
  room.kill("a");
  room.open("b", "ben");
  await room.pass(3 * beatMs + graceMs + 1_000);
  expect(room.events.filter((event) => event === "online ben")).toHaveLength(1);
  expect(room.events.filter((event) => event === "offline anna")).toHaveLength(1);
  expect(room.events.filter((event) => event === "online bert")).toHaveLength(1);
});

test("an event that is repeated by the instance that takes over has the same id", async () => {
  const room = await roomOf("a", "b", "c");
  room.open("c", "carla");
  await room.pass(2_000);
  for (const [speaker, change] of [
    ["a", () => room.open("c", "carl")],
    ["b", () => room.close("c", "carla")],
  ] as const) {
    // It dies when the queue has accepted the event, before any other instance can know that.
    room.onTold = (node) => {
      if (node === speaker) room.cutOff.add(node);
    };
    change();
    await room.pass(graceMs + 1_000);
    room.kill(speaker);
    await room.pass(3 * beatMs);
  }
  expect(room.events).toEqual([
    ...["online carla", "online carl", "online carl", "offline carla", "offline carla"],
  ]);
  expect(new Set(room.told.map(({ id }) => id)).size).toBe(3);
});

test("a user who returns to an evicted instance is reported online, also if the instance that evicted it dies", async () => {
  const room = await roomOf("a", "b", "c");
  room.open("b", "eve");
  await room.pass(2 * beatMs);
  room.cutOff.add("b");
  await room.pass(4 * beatMs);
  expect(room.lastTold().get("eve")).toBe("offline");
  room.cutOff.delete("b");
  // The connection from before ends, and the user is back within the grace period.
  room.close("b", "eve");
  room.kill("c");
  await room.pass(1_000);
  room.open("b", "eve");
  room.kill("a");
  await room.pass(6 * beatMs);
  expect(room.lastTold().get("eve")).toBe("online");
});

test("an instance that starts while all others end knows what they reported", async () => {
  const room = await roomOf("a");
  room.open("a", "anna");
  room.open("a", "bert");
  await room.pass(1_000);
  room.start("b");
  await room.pass(500);
  room.close("a", "anna");
  room.close("a", "bert");
  await room.nodes.get("a")?.presence.leave();
  room.kill("a");
  room.open("b", "anna");
  await room.pass(3 * beatMs);
  expect(room.events).toEqual(["online anna", "online bert", "offline bert"]);
});

test("reports of an instance of an earlier version are adopted and not repeated", async () => {
  const room = new Room();
  const send = (note: object) =>
    room.nodes.get("b")?.presence.receive({
      ...{ v: 1, id: crypto.randomUUID(), node: "a", type: "presence", boot: "boot-0" },
      ...{ startedAt: 1, digest: { users: 1, hash: Bun.hash.xxHash32("anna") }, n: 1 },
      ...note,
    });
  room.start("b");
  send({ kind: "part", index: 0, parts: 1, users: ["anna"] });
  for (let beat = 0; beat < 4; beat++) {
    await room.pass(beatMs);
    send({ kind: "beat" });
  }
  expect(room.events).toEqual([]);
  send({ kind: "bye" });
  await room.pass(graceMs + 1_000);
  expect(room.events).toEqual(["offline anna"]);
});

test("a stay that moves over three instances keeps its number, and the next stay has another", async () => {
  const room = await roomOf("a", "b");
  room.open("a", "anna");
  await room.pass(1_000);
  room.open("b", "anna");
  await room.pass(1_000);
  room.close("a", "anna");
  room.start("c");
  await room.pass(2 * beatMs);
  room.open("c", "anna");
  await room.pass(1_000);
  room.close("b", "anna");
  for (const node of ["a", "b"]) {
    await room.nodes.get(node)?.presence.leave();
    room.kill(node);
  }
  await room.pass(2 * beatMs);
  room.close("c", "anna");
  await room.pass(graceMs + 1_000);
  room.open("c", "anna");
  await room.pass(1_000);
  const [began] = room.told;
  const occasions = new Set(room.told.map(({ id }) => id));
  expect(room.told.filter(({ type }) => type === "offline")).toHaveLength(1);
  expect(occasions.size).toBe(3);
  expect(room.told.at(-1)?.id).not.toBe(String(began?.id));
});

test("a user who moves to an instance that does not know the stay yet is reported online under one id", async () => {
  const room = await roomOf("a", "b");
  room.open("a", "anna");
  await room.pass(2 * beatMs);
  // It has received nothing yet, and takes the stay for a new one.
  room.start("c");
  room.open("c", "anna");
  await room.pass(beatMs);
  for (const node of ["a", "b"]) {
    await room.nodes.get(node)?.presence.leave();
    room.kill(node);
    await room.pass(1_000);
  }
  await room.pass(3 * beatMs);
  expect(new Set(room.told.map(({ type, id }) => `${type} ${id}`)).size).toBe(1);
  room.close("c", "anna");
  await room.pass(graceMs + 1_000);
  const [online, offline] = ["online", "offline"].map(
    (type) => new Set(room.told.filter((event) => event.type === type).map(({ id }) => id)),
  );
  expect({ online: online?.size, offline: offline?.size }).toEqual({ online: 1, offline: 1 });
});

test("an instance that was cut off while a stay ended treats the next stay as new", async () => {
  const room = await roomOf("a", "b");
  room.open("a", "anna");
  await room.pass(2 * beatMs);
  room.cutOff.add("b");
  room.close("a", "anna");
  await room.pass(graceMs + 1_000);
  room.open("a", "anna");
  await room.pass(1_000);
  room.cutOff.delete("b");
  await room.pass(2 * beatMs);
  expect(room.lastTold().get("anna")).toBe("online");
  room.open("b", "anna");
  await room.pass(1_000);
  await room.nodes.get("a")?.presence.leave();
  room.kill("a");
  await room.pass(3 * beatMs);
  room.close("b", "anna");
  await room.pass(graceMs + 1_000);
  // With the id of the earlier stay a reader would drop it.
  expect(room.lastTold().get("anna")).toBe("offline");
  const ids = room.told.map(({ id }) => id);
  expect(new Set(ids).size).toBe(4);
});

test("a return that one instance saw within the grace period and another after it begins one new stay", async () => {
  const room = await roomOf("a", "b");
  room.open("a", "anna");
  await room.pass(2 * beatMs);
  room.close("a", "anna");
  // The other instance received it half a second later.
  await room.pass(graceMs);
  expect(room.events).toEqual(["online anna", "offline anna"]);
  room.open("b", "anna");
  await room.pass(2 * beatMs);
  await room.nodes.get("a")?.presence.leave();
  room.kill("a");
  await room.pass(3 * beatMs);
  room.close("b", "anna");
  await room.pass(graceMs + 1_000);
  expect(room.lastTold().get("anna")).toBe("offline");
  expect(new Set(room.told.map(({ id }) => id)).size).toBe(4);
});
