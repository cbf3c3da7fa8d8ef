import { expect, test } from "bun:test";
import pino from "pino";
import { manualClock } from "../../src/clock.ts";
import { EventSender } from "../../src/push/events/event-sender.ts";
import { failureOf } from "../support/failure.ts";

test("a receiver that is away is logged once, and once when it is back; the address is never logged", async () => {
  const lines: { level: number; msg: string; reason?: string; seconds?: number }[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  const clock = manualClock();
  const answers = [
    () => Promise.reject(new Error("connect http://shop.internal/events")),
    async () => new Response(null, { status: 503 }),
    async () => new Response(null, { status: 204 }),
    async () => new Response(null, { status: 200 }),
  ];
  const sender = new EventSender({
    uri: "http://shop.internal/events",
    secret: null,
    kind: "presence",
    fetch: () => (answers.shift() ?? (() => Promise.reject(new Error("no more answers"))))(),
    clock,
    log,
  });
  const events = [{ v: 1, id: "online-1", ts: 1, node: "a", type: "online", userId: "42" } as const];
  const send = () => sender.send(events);
  expect(await failureOf(send())).toEqual(new Error("it cannot be reached"));
  clock.advance(60_000);
  expect(await failureOf(send())).toEqual(new Error("it answered 503"));
  await send();
  await send();
  expect(lines.map(({ level, reason, seconds }) => ({ level, reason, seconds }))).toEqual([
    { level: 40, reason: "it cannot be reached", seconds: undefined },
    { level: 30, reason: undefined, seconds: 60 },
  ]);
  expect(JSON.stringify(lines)).not.toContain("shop.internal");
  expect(sender.counters).toEqual({ accepted: 2, failedRequests: 2 });
});
