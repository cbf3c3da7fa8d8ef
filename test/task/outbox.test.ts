import { beforeEach, describe, expect, test } from "bun:test";
import pino from "pino";
import { manualClock } from "../../src/clock.ts";
import type { NewOutgoingCall, OutgoingCallKeeper } from "../../src/model/outgoing-call.ts";
import { ForbiddenAddress } from "../../src/task/notify/guarded-request.ts";
import { buildOutbox } from "../../src/task/notify/outbox.ts";
import { storeCalls } from "../../src/task/notify/store-calls.ts";
import { silentTelemetry } from "../../src/telemetry/telemetry.ts";
import { makeSqlite } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { sampleProject } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const { store } = await setUpStore(makeSqlite);
let projectId: number;
beforeEach(async () => {
  if (projectId !== undefined) await store.projects.delete(projectId);
  projectId = (await store.projects.create(sampleProject())).id;
});

const call = (more: Partial<NewOutgoingCall> = {}): NewOutgoingCall => ({
  projectId,
  kind: "notification",
  event: "task.failed",
  targetId: null,
  subject: null,
  url: "https://hooks.example/",
  messageId: "msg_1",
  proof: "signature",
  body: "{}",
  ...more,
});

interface Scene {
  retryAfterMs?: number[];
  clock?: { now(): number };
  calls?: OutgoingCallKeeper;
  /** How the receiver answers, and when. */
  answer?: (body: string) => Promise<number>;
}

/** The outbox of one server. Several on the same store are several servers, or successive ones. */
function outboxWith(answers: (number | Error)[], scene: Scene = {}) {
  const { retryAfterMs = [1, 1, 1], clock = { now: Date.now }, calls = store.outgoingCalls } = scene;
  const posted: string[] = [];
  const results: string[] = [];
  const logged: string[] = [];
  const outbox = buildOutbox({
    calls,
    now: () => new Date(clock.now()),
    prepare: async ({ url, body }) => ({ request: { url, headers: {}, body }, secrets: [] }),
    record: async () => {},
    log: pino({ level: "warn" }, { write: (line: string) => void logged.push(line) }),
    retryAfterMs,
    telemetry: silentTelemetry,
    counted: (_kind, result) => results.push(result),
    async send({ body }) {
      posted.push(body);
      if (scene.answer) return { status: await scene.answer(body), body: "" };
      const answer = answers.shift() ?? 200;
      if (answer instanceof Error) throw answer;
      return { status: answer, body: "" };
    },
  });
  outbox.start();
  /** Stores calls as an operation does, and sends them. */
  const send = async (...sent: NewOutgoingCall[]) =>
    outbox.send(await storeCalls({ outgoingCalls: calls, now: () => new Date(clock.now()) }, sent, null));
  return { outbox, send, posted, results, logged };
}

/** A call that is refused makes the outbox look at once for calls that are due. */
const refused = "refused";

const waiting = () => store.outgoingCalls.count();

describe("outgoing calls", () => {
  test("are retried until they are accepted, and then deleted", async () => {
    const { outbox, send, posted, results } = outboxWith([503, new Error("connection refused"), 200]);
    await send(call());
    await eventually("it was taken", () => results.length === 1);
    expect(results).toEqual(["delivered"]);
    expect(posted).toHaveLength(3);
    await eventually("none waits", async () => (await waiting()) === 0);
    await outbox.close(1000);
  });

  test("are dropped after a permanent refusal, or too many refusals", async () => {
    for (const answers of [[410], [new ForbiddenAddress("inside")], [500, 500, 500, 500]]) {
      const tries = answers.length;
      const { outbox, send, posted, results, logged } = outboxWith(answers);
      await send(call());
      await eventually("it was given up", () => results.length === 1);
      expect(results).toEqual(["failed"]);
      expect(posted).toHaveLength(tries);
      expect(logged.join()).toContain("an outgoing call was given up");
      await eventually("none waits", async () => (await waiting()) === 0);
      await outbox.close(1000);
    }
  });

  test("to one address start in their order", async () => {
    const begun: string[] = [];
    const { outbox, send, results } = outboxWith([], {
      retryAfterMs: [600_000],
      async answer(body) {
        begun.push(body);
        await Bun.sleep(body === "first" ? 20 : 0); // Without an order, others would overtake it.
        return body === "first" ? 503 : 200;
      },
    });
    await send(...["first", "second", "third"].map((body) => call({ body })));
    await eventually("the later ones were taken", () => results.length === 2);
    expect(begun).toEqual(["first", "second", "third"]);
    await outbox.close(1000);
  });

  test("are replaced by a newer one of the same subject", async () => {
    const { outbox, send, posted, results } = outboxWith([503, 200], { retryAfterMs: [600_000] });
    await send(call({ subject: "commit a", body: "pending" }));
    await eventually("the first was tried", () => posted.length === 1);
    await send(call({ subject: "commit a", body: "success" }));
    await eventually("none waits", async () => results.length === 1 && (await waiting()) === 0);
    await outbox.close(1000);
    expect(posted).toEqual(["pending", "success"]);
    expect(results).toEqual(["delivered"]);
  });

  test("that wait when a server ends are made by the next one", async () => {
    const clock = manualClock();
    const { outbox, send, posted } = outboxWith([503], { clock, retryAfterMs: [5000] });
    await send(call({ body: "the news" }));
    await eventually("it was tried", () => posted.length === 1);
    await outbox.close(5000);
    expect(await waiting()).toBe(1);
    clock.advance(5000);
    const next = outboxWith([200], { clock });
    await eventually("the next server sends it", () => next.results.length === 1);
    expect([next.posted, next.results]).toEqual([["the news"], ["delivered"]]);
    await next.outbox.close(1000);
  });

  test("that had not started when a server ended are made by the next one, too", async () => {
    const taken = Promise.withResolvers<number>();
    const { outbox, send, posted } = outboxWith([], { answer: () => taken.promise });
    await send(...["first", "second"].map((body) => call({ body })));
    await eventually("both wait", async () => posted.length === 1 && (await waiting()) === 2);
    const closed = outbox.close(5000);
    taken.resolve(200);
    await closed;
    expect(posted).toEqual(["first"]);
    const next = outboxWith([200]);
    await eventually("the next server sends it", () => next.results.length === 1);
    expect(next.posted).toEqual(["second"]);
    await next.outbox.close(1000);
  });

  test("of a server that was killed before their first attempt are made by the next one, in their order", async () => {
    const clock = manualClock();
    const now = () => new Date(clock.now());
    const bodies = ["first", "second", "third"];
    for (const body of bodies)
      await storeCalls({ outgoingCalls: store.outgoingCalls, now }, [call({ body })], null);
    clock.advance(16_000);
    const next = outboxWith([], {
      clock,
      async answer(body) {
        await Bun.sleep(body === "first" ? 50 : 0); // Without an order, others would overtake it.
        return 200;
      },
    });
    await eventually("the next one tells them", () => next.results.length === 3);
    expect(next.posted).toEqual(bodies);
    await next.outbox.close(1000);
  });

  test("that wait behind a slow one for longer than a server may take keep their order", async () => {
    const clock = manualClock();
    const taken = Promise.withResolvers<number>();
    const { outbox, send, posted, results } = outboxWith([], {
      clock,
      retryAfterMs: [600_000],
      answer: (body) => (body === "first" ? taken.promise : Promise.resolve(body === refused ? 503 : 200)),
    });
    await send(...["first", "second", "third"].map((body) => call({ body })));
    await eventually("the first is under way", () => posted.length === 1);
    clock.advance(16_000);
    await send(call({ body: refused, url: "https://other.example/" }));
    await eventually("they are claimed again", async () => {
      const next = await store.outgoingCalls.nextDue();
      return next !== null && next.getTime() > clock.now();
    });
    taken.resolve(200);
    await eventually("all were taken", () => results.length === 3);
    expect(posted.filter((body) => body !== refused)).toEqual(["first", "second", "third"]);
    await outbox.close(1000);
  });

  test("of a server that died during an attempt are repeated after its hold has expired", async () => {
    const clock = manualClock();
    const never = outboxWith([], { clock, answer: () => new Promise(() => {}) });
    await never.send(call({ body: "the news" }));
    await eventually("it is under way", async () => never.posted.length === 1 && (await waiting()) === 1);
    await never.outbox.close(0);
    const early = outboxWith([200], { clock });
    await early.outbox.close(1000);
    expect(early.posted).toEqual([]);
    clock.advance(61_000);
    const next = outboxWith([200], { clock });
    await eventually("the next server sends it", () => next.results.length === 1);
    expect(next.posted).toEqual(["the news"]);
    await next.outbox.close(1000);
  });

  test("that are older than a day are dropped", async () => {
    const clock = manualClock();
    const first = outboxWith([503], { clock, retryAfterMs: [1000] });
    await first.send(call());
    await eventually("it waits", async () => first.posted.length === 1 && (await waiting()) === 1);
    await first.outbox.close(1000);
    clock.advance(25 * 3_600_000);
    const next = outboxWith([200], { clock });
    await eventually("it is given up", () => next.results.length === 1);
    expect([next.posted, next.results]).toEqual([[], ["failed"]]);
    expect(next.logged.join()).toContain("it has waited for more than a day");
    await eventually("none waits", async () => (await waiting()) === 0);
    await next.outbox.close(1000);
  });

  test("are dropped with a line in the log when a thousand wait", async () => {
    const full: OutgoingCallKeeper = {
      ...store.outgoingCalls,
      add: async (call) => ({ call, id: null, dropped: null, replaced: [] }),
    };
    const { outbox, send, posted, results, logged } = outboxWith([], { calls: full });
    await send(call());
    await eventually("it is counted", () => results.length === 1);
    expect([posted, results]).toEqual([[], ["failed"]]);
    expect(logged.join()).toContain("too many outgoing calls of this project wait");
    await outbox.close(1000);
  });

  test("of a project with dead addresses do not block other projects", async () => {
    const quiet = (await store.projects.create(sampleProject())).id;
    const never = new Promise<number>(() => {});
    const { outbox, send, posted, results } = outboxWith([], {
      answer: (body) => (body === "quiet" ? Promise.resolve(200) : never),
    });
    for (let each = 0; each < 1200; each++)
      await send(call({ url: `https://dead-${each % 20}.example/`, body: "dead" }));
    await send(call({ projectId: quiet, url: "https://alive.example/", body: "quiet" }));
    await eventually("the other project's notification arrives", () => results.includes("delivered"));
    expect(posted).toContain("quiet");
    expect(await waiting()).toBeLessThanOrEqual(1000);
    await outbox.close(0);
    await store.projects.delete(quiet);
  });

  test("about one commit never overlap: the newest state arrives last", async () => {
    const arrived: string[] = [];
    let answerPending = (_status: number) => {};
    const { outbox, send, posted } = outboxWith([], {
      answer: async (body) => {
        // The first try of "pending" fails; its retry is slow.
        if (body === "pending" && posted.length > 1)
          await new Promise<number>((resolve) => {
            answerPending = resolve;
          });
        arrived.push(body);
        return body === "pending" && posted.length === 1 ? 503 : 200;
      },
    });
    const status = (body: string) => call({ kind: "commit status", subject: "commit 1", body });
    await send(status("pending"));
    await eventually("the retry is under way", () => posted.length === 2);
    await send(status("success"));
    await send(call({ url: "https://other.example/", body: "other" }));
    await eventually("a later call to another host is sent", () => posted.includes("other"));
    expect(posted).toEqual(["pending", "pending", "other"]);
    answerPending(200);
    await eventually("the newest state arrives", () => arrived.includes("success"));
    expect(arrived.at(-1)).toBe("success");
    await outbox.close(1000);
  });

  test("that replaced a call which another server may be sending are sent once more after it", async () => {
    const clock = manualClock();
    const slow = outboxWith([], { clock, answer: () => new Promise(() => {}) });
    await slow.send(call({ kind: "commit status", subject: "commit 2", body: "pending" }));
    await eventually("it is under way", async () => slow.posted.length === 1 && (await waiting()) === 1);
    const fast = outboxWith([200, 200], { clock });
    await fast.send(call({ kind: "commit status", subject: "commit 2", body: "success" }));
    await eventually("the newest state is sent", () => fast.results.length === 1);
    await slow.outbox.close(0);
    clock.advance(61_000);
    await eventually("it is sent again", () => fast.posted.length === 2);
    await eventually("none waits", async () => (await waiting()) === 0);
    expect(fast.posted).toEqual(["success", "success"]);
    await fast.outbox.close(1000);
  });
});
