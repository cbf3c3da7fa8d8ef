import { expect, test } from "bun:test";
import type { BusState } from "../../src/bus/bus.ts";
import { OutageLog } from "../../src/bus/outage-log.ts";
import { Reconnector, type SessionEvents } from "../../src/bus/reconnector.ts";
import { manualClock } from "../../src/clock.ts";
import { keptLog } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";

type Opening = (events: SessionEvents) => Promise<{ close(): Promise<void> }>;

function reconnecting(open: Opening, more: { openTimeoutMs?: number } = {}) {
  const states: BusState[] = [];
  const { log, lines } = keptLog();
  const clock = manualClock();
  const reconnector = new Reconnector({
    open,
    readyDetail: "consuming",
    outages: new OutageLog(log, clock),
    clock,
    random: () => 1,
    openTimeoutMs: 5_000,
    minDelayMs: 1,
    maxDelayMs: 4,
    ...more,
  });
  reconnector.onStateChange((state) => states.push(state));
  reconnector.start();
  return { reconnector, states, lines, clock };
}

const session = () => ({ close: async () => {} });

test("it keeps trying, and logs an outage once", async () => {
  let attempts = 0;
  const { reconnector, states, lines } = reconnecting(async () => {
    attempts += 1;
    if (attempts < 20) throw new Error("connection refused");
    return session();
  });
  await eventually("it is ready", () => reconnector.state().ready);
  expect(attempts).toBe(20);
  expect(states[0]?.detail).toBe("connection refused, next try in 0.0 s");
  expect(lines.map(({ level }) => level)).toEqual([40, 30]);
  await reconnector.close();
});

test("a broken session is replaced, and later events of the old one are ignored", async () => {
  const sessions: SessionEvents[] = [];
  const { reconnector } = reconnecting(async (events) => {
    sessions.push(events);
    return session();
  });
  await eventually("it is ready", () => reconnector.state().ready);
  sessions[0]?.broken(new Error("connection lost"));
  await eventually("a second one is open", () => sessions.length === 2 && reconnector.state().ready);
  sessions[0]?.paused("blocked", "of the past");
  sessions[0]?.broken(new Error("of the past"));
  expect(reconnector.state()).toEqual({ ready: true, detail: "consuming" });
  await reconnector.close();
});

test("a paused session is open but not ready", async () => {
  let events: SessionEvents | undefined;
  const { reconnector } = reconnecting(async (given) => {
    events = given;
    given.paused("backlog", "catching up");
    return session();
  });
  await eventually("it says why", () => reconnector.state().detail === "catching up");
  expect(reconnector.session()).toBeUndefined();
  events?.resumed("backlog");
  expect(reconnector.state().ready).toBe(true);
  await reconnector.close();
  expect(reconnector.state()).toEqual({ ready: false, detail: "closed" });
});

test("a session that is paused for two reasons is ready when both are resolved", async () => {
  let events: SessionEvents | undefined;
  const { reconnector } = reconnecting(async (given) => {
    events = given;
    given.paused("backlog", "catching up");
    return session();
  });
  await eventually("it says why", () => reconnector.state().detail === "catching up");
  events?.paused("blocked", "it accepts no messages");
  events?.resumed("backlog");
  expect(reconnector.state()).toEqual({ ready: false, detail: "it accepts no messages" });
  events?.resumed("backlog");
  expect(reconnector.state().ready).toBe(false);
  events?.resumed("blocked");
  expect(reconnector.state().ready).toBe(true);
  await reconnector.close();
});

test("the newest pause is shown", async () => {
  let events: SessionEvents | undefined;
  const { reconnector } = reconnecting(async (given) => {
    events = given;
    given.paused("first", "waiting for the first message");
    return session();
  });
  await eventually("it says why", () => reconnector.state().detail === "waiting for the first message");
  events?.paused("blocked", "it accepts no messages");
  expect(reconnector.state().detail).toBe("it accepts no messages");
  events?.paused("first", "still waiting for the first message");
  expect(reconnector.state().detail).toBe("still waiting for the first message");
  await reconnector.close();
});

test("a session that only cannot publish is receiving", async () => {
  let events: SessionEvents | undefined;
  const { reconnector, states } = reconnecting(async (given) => {
    events = given;
    given.paused("backlog", "catching up");
    given.paused("first", "waiting for the first message", "unknown");
    return session();
  });
  await eventually("it says why", () => reconnector.state().detail === "waiting for the first message");
  events?.paused("blocked", "it accepts no messages", "publishing");
  expect(reconnector.state().isReceiving).not.toBe(true);
  events?.resumed("backlog");
  expect(reconnector.state()).toEqual({ ready: false, isReceiving: true, detail: "it accepts no messages" });
  expect(states.at(-1)?.isReceiving).toBe(true);
  expect(reconnector.session()).toBeUndefined();
  events?.resumed("blocked");
  expect(reconnector.state()).toEqual({ ready: false, detail: "waiting for the first message" });
  await reconnector.close();
});

test("an open that never ends is aborted by its signal", async () => {
  const signals: AbortSignal[] = [];
  const { reconnector } = reconnecting(
    ({ signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    },
    { openTimeoutMs: 5 },
  );
  await eventually("it was tried twice", () => signals.length >= 2);
  expect(signals[0]?.aborted).toBe(true);
  await reconnector.close();
  expect(signals.at(-1)?.aborted).toBe(true);
});

test("the reason contains the outermost and the innermost error", async () => {
  const refused = new Error("Connection to host:9092 failed.", { cause: new Error("ECONNREFUSED") });
  const { reconnector } = reconnecting(() =>
    Promise.reject(new AggregateError([refused], "metadata failed 1 times.")),
  );
  await eventually("it says why", () =>
    reconnector.state().detail.startsWith("metadata failed 1 times: ECONNREFUSED, next try in"),
  );
  await reconnector.close();
});

test("an attempt that waits names its node, how long it may take, and the failure before it", async () => {
  const nodes = ["a:5672", "b:5672"];
  const attempt = Promise.withResolvers<{ close(): Promise<void> }>();
  const { reconnector, lines } = reconnecting(({ connecting }) => {
    const node = nodes.shift() ?? "";
    connecting(node);
    return node === "a:5672" ? Promise.reject(new Error("connection timed out")) : attempt.promise;
  });
  await eventually("the second node is tried", () => nodes.length === 0);
  expect(reconnector.state().detail).toBe(
    "connecting to b:5672, for at most 5 s; before: a:5672: connection timed out",
  );
  attempt.resolve(session());
  await eventually("it is ready", () => reconnector.state().ready);
  expect(lines.map(({ detail }) => detail)).toEqual([
    "a:5672: connection timed out, next try in 0.0 s",
    "b:5672: consuming",
  ]);
  await reconnector.close();
});

test("a broker that refuses records is logged when it begins, also after another outage, and when it ends", async () => {
  const sessions: SessionEvents[] = [];
  const { reconnector, lines, clock } = reconnecting(async (events) => {
    sessions.push(events);
    return session();
  });
  await eventually("it is ready", () => reconnector.state().ready);
  sessions[0]?.broken(new Error("connection lost"));
  await eventually("it is ready again", () => sessions.length === 2 && reconnector.state().ready);
  sessions[1]?.paused("blocked", "low on disk", "publishing");
  sessions[1]?.paused("first", "waiting for the first message", "unknown");
  clock.advance(90_000);
  sessions[1]?.resumed("first");
  sessions[1]?.resumed("blocked");
  expect(lines.map(({ level, detail, outageSeconds }) => ({ level, detail, outageSeconds }))).toEqual([
    { level: 30, detail: "consuming", outageSeconds: undefined },
    { level: 40, detail: "connection lost, next try in 0.0 s", outageSeconds: undefined },
    { level: 30, detail: "consuming", outageSeconds: 0 },
    { level: 40, detail: "low on disk", outageSeconds: undefined },
    { level: 40, detail: "low on disk", outageSeconds: undefined },
    { level: 30, detail: "consuming", outageSeconds: 90 },
  ]);
  await reconnector.close();
});
