import { expect, test } from "bun:test";
import pino from "pino";
import type { BusState } from "../../src/bus/bus.ts";
import { type SessionEvents, Supervisor } from "../../src/bus/supervisor.ts";
import { manualClock } from "../../src/clock.ts";
import { eventually } from "../support/eventually.ts";

type Opening = (events: SessionEvents) => Promise<{ close(): Promise<void> }>;

function supervise(open: Opening, more: { openTimeoutMs?: number } = {}) {
  const states: BusState[] = [];
  const lines: string[] = [];
  const clock = manualClock();
  const supervisor = new Supervisor({
    open,
    readyDetail: "consuming",
    log: pino({ level: "info", base: null, timestamp: false }, { write: (line) => void lines.push(line) }),
    clock,
    random: () => 1,
    openTimeoutMs: 5_000,
    minDelayMs: 1,
    maxDelayMs: 4,
    ...more,
  });
  supervisor.onStateChange((state) => states.push(state));
  supervisor.start();
  return { supervisor, states, lines, clock };
}

const session = () => ({ close: async () => {} });

test("it keeps trying, and logs an outage once", async () => {
  let attempts = 0;
  const { supervisor, states, lines } = supervise(async () => {
    attempts += 1;
    if (attempts < 20) throw new Error("connection refused");
    return session();
  });
  await eventually("it is ready", () => supervisor.state().ready);
  expect(attempts).toBe(20);
  expect(states[0]?.detail).toBe("connection refused, next try in 0.0 s");
  expect(lines.map((line) => JSON.parse(line).level)).toEqual([40, 30]);
  await supervisor.close();
});

test("a broken session is replaced, and later events of the old one are ignored", async () => {
  const sessions: SessionEvents[] = [];
  const { supervisor } = supervise(async (events) => {
    sessions.push(events);
    return session();
  });
  await eventually("it is ready", () => supervisor.state().ready);
  sessions[0]?.broken(new Error("connection lost"));
  await eventually("a second one is open", () => sessions.length === 2 && supervisor.state().ready);
  sessions[0]?.paused("blocked", "of the past");
  sessions[0]?.broken(new Error("of the past"));
  expect(supervisor.state()).toEqual({ ready: true, detail: "consuming" });
  await supervisor.close();
});

test("a paused session is open but not ready", async () => {
  let events: SessionEvents | undefined;
  const { supervisor } = supervise(async (given) => {
    events = given;
    given.paused("backlog", "catching up");
    return session();
  });
  await eventually("it says why", () => supervisor.state().detail === "catching up");
  expect(supervisor.session()).toBeUndefined();
  events?.resumed("backlog");
  expect(supervisor.state().ready).toBe(true);
  await supervisor.close();
  expect(supervisor.state()).toEqual({ ready: false, detail: "closed" });
});

test("a session that is paused for two reasons is ready when both are resolved", async () => {
  let events: SessionEvents | undefined;
  const { supervisor } = supervise(async (given) => {
    events = given;
    given.paused("backlog", "catching up");
    return session();
  });
  await eventually("it says why", () => supervisor.state().detail === "catching up");
  events?.paused("blocked", "it accepts no messages");
  events?.resumed("backlog");
  expect(supervisor.state()).toEqual({ ready: false, detail: "it accepts no messages" });
  events?.resumed("backlog");
  expect(supervisor.state().ready).toBe(false);
  events?.resumed("blocked");
  expect(supervisor.state().ready).toBe(true);
  await supervisor.close();
});

test("the newest pause is shown", async () => {
  let events: SessionEvents | undefined;
  const { supervisor } = supervise(async (given) => {
    events = given;
    given.paused("first", "waiting for the first message");
    return session();
  });
  await eventually("it says why", () => supervisor.state().detail === "waiting for the first message");
  events?.paused("blocked", "it accepts no messages");
  expect(supervisor.state().detail).toBe("it accepts no messages");
  events?.paused("first", "still waiting for the first message");
  expect(supervisor.state().detail).toBe("still waiting for the first message");
  await supervisor.close();
});

test("a session that only cannot publish is receiving", async () => {
  let events: SessionEvents | undefined;
  const { supervisor, states } = supervise(async (given) => {
    events = given;
    given.paused("backlog", "catching up");
    given.paused("first", "waiting for the first message", "unknown");
    return session();
  });
  await eventually("it says why", () => supervisor.state().detail === "waiting for the first message");
  events?.paused("blocked", "it accepts no messages", "publishing");
  expect(supervisor.state().isReceiving).not.toBe(true);
  events?.resumed("backlog");
  expect(supervisor.state()).toEqual({ ready: false, isReceiving: true, detail: "it accepts no messages" });
  expect(states.at(-1)?.isReceiving).toBe(true);
  expect(supervisor.session()).toBeUndefined();
  events?.resumed("blocked");
  expect(supervisor.state()).toEqual({ ready: false, detail: "waiting for the first message" });
  await supervisor.close();
});

test("an open that never ends is aborted by its signal", async () => {
  const signals: AbortSignal[] = [];
  const { supervisor } = supervise(
    ({ signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    },
    { openTimeoutMs: 5 },
  );
  await eventually("it was tried twice", () => signals.length >= 2);
  expect(signals[0]?.aborted).toBe(true);
  await supervisor.close();
  expect(signals.at(-1)?.aborted).toBe(true);
});

test("the reason contains the outermost and the innermost error", async () => {
  const refused = new Error("Connection to host:9092 failed.", { cause: new Error("ECONNREFUSED") });
  const { supervisor } = supervise(() =>
    Promise.reject(new AggregateError([refused], "metadata failed 1 times.")),
  );
  await eventually("it says why", () =>
    supervisor.state().detail.startsWith("metadata failed 1 times: ECONNREFUSED, next try in"),
  );
  await supervisor.close();
});
