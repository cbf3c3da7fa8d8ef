import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { originCheck } from "../../src/push/admission/origin.ts";
import { largestChannels } from "../../src/push/connections-report.ts";
import { readControl } from "../../src/push/message/control-message.ts";
import { readBroadcast } from "../../src/push/message/message.ts";
import { fingerprintOf, Idempotency } from "../../src/push/publish/idempotency.ts";

describe("allowed-origins", () => {
  const isAllowed = originCheck([
    "https://app.example.com",
    "http://localhost:3000",
    "https://*.shop.example",
  ]);

  test("exact scheme, host and port", () => {
    for (const origin of ["https://app.example.com", "https://APP.example.com:443", "http://localhost:3000"])
      expect(isAllowed(origin)).toBe(true);
    for (const origin of [
      "http://app.example.com",
      "https://app.example.com:8443",
      "https://app.example.com.evil.com",
      "https://evil.com/https://app.example.com",
      "null",
      "",
    ])
      expect(isAllowed(origin)).toBe(false);
  });

  test("https://*.x.com allows every subdomain, and no other host", () => {
    for (const origin of ["https://a.shop.example", "https://a.b.shop.example"])
      expect(isAllowed(origin)).toBe(true);
    for (const origin of [
      "https://shop.example",
      "http://a.shop.example",
      "https://evilshop.example",
      "https://a.shop.example:444",
      "https://evil.com?.shop.example",
      "https://evil.com/.shop.example",
    ])
      expect(isAllowed(origin)).toBe(false);
  });

  test("* allows every origin", () => {
    expect(originCheck(["*"])("https://anything.example")).toBe(true);
  });
});

describe("idempotency keys", () => {
  test("a key is known for five minutes, however the two maps rotate", () => {
    const keys = new Idempotency({ windowMs: 300_000, maxKeys: 1000 });
    const fingerprint = fingerprintOf({ targetType: "all", target: "", data: "x" });
    const firstOf = (offset: number, atMs: number) =>
      keys.read("a", { offset, id: `id-${offset}`, fingerprint, atMs }).offset;
    expect(firstOf(1, 1000)).toBe(1);
    for (let at = 1000; at <= 300_000; at += 1000) {
      keys.dropOld(at);
      expect(firstOf(at, at)).toBe(1);
    }
    expect(keys.find("a", 301_000)).toBeUndefined();
    expect(firstOf(301_000, 301_000)).toBe(301_000);
  });

  test("the number of keys is bounded: the older half is dropped first", () => {
    const keys = new Idempotency({ windowMs: 300_000, maxKeys: 1000 });
    for (let offset = 0; offset < 5000; offset++)
      keys.read(`k${offset}`, { offset, id: "id", fingerprint: 0n, atMs: 1 });
    expect(keys.size).toBeLessThanOrEqual(1000);
    expect(keys.find("k4999", 2)).toBeDefined();
    expect(keys.find("k0", 2)).toBeUndefined();
  });

  test("the fingerprint separates its fields", () => {
    const of = (target: string, data: string) => fingerprintOf({ targetType: "user", target, data });
    expect(of("a\nb", "c")).not.toBe(of("a", "b\nc"));
  });
});

describe("messages on the queue", () => {
  const clock = { now: () => 7, elapsed: () => 7 };
  const rules = { maxMessageBytes: 100, reservesConsoleNames: true, clock };
  const read = (value: unknown) => readBroadcast({ offset: 3, id: "made", ageMs: 0, value }, rules);
  const place = { offset: 3, ageMs: 0, receivers: 0 };

  test("other values are not messages", () => {
    const good = { v: 1, id: "i", seq: 1, ts: 1, node: "n", targetType: "all", target: "", data: "x" };
    expect(read(good)).toMatchObject({ ...place, id: "i", ts: 1, targetType: "all", target: "", data: "x" });
    const wrong = [
      null,
      7,
      "text",
      [],
      {},
      { targetType: "user", data: "x" },
      { targetType: "user", target: "", data: "x" },
      { targetType: "user", target: "1", data: 7 },
      { ...good, v: 2 },
      { ...good, id: "" },
      { ...good, seq: "1" },
      { ...good, idempotencyKey: 7 },
    ];
    for (const value of wrong) expect(read(value)).toBeNull();
  });

  test("a message over max-message-bytes is not accepted", () => {
    const readData = (data: string) => read({ targetType: "all", data });
    expect(readData("x".repeat(100))).not.toBeNull();
    expect(readData("漢".repeat(33))).not.toBeNull();
    expect(readData("漢".repeat(34))).toBeNull();
  });

  test("a control message has a type and all fields of that type", () => {
    const head = { v: 1, id: "i", node: "n" };
    const good = [
      { ...head, type: "kick", userId: "1", code: 4004, reason: "" },
      { ...head, type: "kick", connectionId: "c", code: 4004, reason: "" },
      { ...head, type: "join", userId: "1", channel: "c" },
      { ...head, type: "leave", userId: "1", channel: "c", revoke: false },
      { ...head, type: "grant", userId: "1", channels: ["a"] },
    ];
    for (const value of good) expect(readControl(value)).toEqual(value as never);
    const wrong = [
      { ...head, type: "kick", code: 4004, reason: "" },
      { ...head, type: "kick", userId: "1", connectionId: "c", code: 4004, reason: "" },
      { ...head, type: "join", userId: "1" },
      { ...head, type: "grant", userId: "1", channels: "a" },
      { ...head, type: "dance" },
      { type: "join", userId: "1", channel: "c" },
    ];
    for (const value of wrong) expect(readControl(value)).toBeNull();
  });
});

describe("the channels in the report of connections", () => {
  test("are the largest, among equals the oldest, sorted by size and then by name", () => {
    const channel = fc.record({ name: fc.string(), members: fc.integer({ min: 1, max: 6 }) });
    fc.assert(
      fc.property(fc.array(channel), fc.integer({ min: 1, max: 20 }), (channels, limit) => {
        const all = new Map(channels.map(({ name, members }) => [name, members]));
        const entries = [...all].map(([name, members]) => ({ name, members }));
        // Sorting is stable, so equals stay in order of creation.
        const largest = entries.sort((left, right) => right.members - left.members).slice(0, limit);
        const byName = largest.sort(
          (left, right) => right.members - left.members || (left.name < right.name ? -1 : 1),
        );
        expect(largestChannels(all, limit)).toEqual(byName);
      }),
    );
  });
});
