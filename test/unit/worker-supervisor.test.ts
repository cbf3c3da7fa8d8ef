import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualClock } from "../../src/clock.ts";
import { KeyFile } from "../../src/push/publish/key-file.ts";
import type { ClaimedKey, ToWorker } from "../../src/workers/protocol.ts";
import { InstanceLimits } from "../../src/workers/supervisor/instance-limits.ts";
import { KeyClaims } from "../../src/workers/supervisor/key-claims.ts";
import { MessageOrder, type Receiver } from "../../src/workers/supervisor/message-order.ts";
import { MetricsSum, type ProcessMetrics } from "../../src/workers/supervisor/metrics-sum.ts";

class RecordingWorker implements Receiver {
  readonly worker: number;
  readonly frames: string[] = [];

  constructor(worker: number) {
    this.worker = worker;
  }

  send(header: ToWorker, body?: Uint8Array): void {
    this.frames.push(`${header.type} ${body ? Buffer.from(body).toString() : ""}`.trim());
  }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

describe("the order of messages", () => {
  const clock = manualClock();
  const order = () => new MessageOrder({ maxMessages: 3, maxBytes: 1_000, maxAgeMs: 60_000, clock });
  const publish = (to: MessageOrder, text: string, onHandled: (affected: number) => void = () => {}) =>
    to.publish("broadcast", Buffer.from(text), onHandled);

  test("a publish is done when every worker has handled it, with the sum of their counts", async () => {
    const [one, two, messages] = [new RecordingWorker(1), new RecordingWorker(2), order()];
    messages.join(one);
    messages.join(two);
    const done: number[] = [];
    publish(messages, "a", (affected) => done.push(affected));
    publish(messages, "b", (affected) => done.push(affected));
    await turn();
    messages.handled(one, 2, [1, 10, 2, 1]);
    expect(done).toEqual([]);
    messages.handled(two, 1, [1, 5]);
    expect(done).toEqual([15]);
    messages.leave(two);
    expect(done).toEqual([15, 1]);
  });

  test("a worker that hangs delays nobody for long, and a worker that is busy gets the rest together", async () => {
    const [one, messages] = [new RecordingWorker(1), order()];
    messages.join(one);
    const done: number[] = [];
    publish(messages, "a", (affected) => done.push(affected));
    await turn();
    publish(messages, "b");
    publish(messages, "c");
    await turn();
    expect(one.frames).toEqual(["live", "message a"]);
    clock.advance(2_000);
    messages.finishOverdue();
    expect(done).toEqual([0]);
    messages.handled(one, 1, []);
    expect(one.frames).toEqual(["live", "message a", "message b", "message c"]);
  });

  test("messages that wait are sent before an answer that must not overtake them", async () => {
    const [one, messages] = [new RecordingWorker(1), order()];
    messages.join(one);
    publish(messages, "a");
    messages.sendWaiting(one);
    expect(one.frames).toEqual(["live", "message a"]);
    await turn();
    expect(one.frames).toEqual(["live", "message a"]);
  });

  test("a worker that starts gets the last messages, and of the old ones the newest", () => {
    const messages = order();
    for (const text of ["a", "b", "c", "d"]) publish(messages, text);
    const one = new RecordingWorker(1);
    messages.join(one);
    expect(one.frames).toEqual(["kept b", "kept c", "kept d", "live"]);
    clock.advance(61_000);
    const two = new RecordingWorker(2);
    messages.join(two);
    expect(two.frames).toEqual(["kept d", "live"]);
  });
});

describe("claims of idempotency keys", () => {
  function claims() {
    const clock = manualClock();
    const folder = mkdtempSync(join(tmpdir(), "slipway-claims-"));
    const options = { file: join(folder, "keys"), clock, steady: clock, machine: null, onFault() {} };
    const keys = new KeyClaims(new KeyFile(options), clock);
    const claim = (worker: number, key = "k") => {
      const results: (ClaimedKey | null)[] = [];
      keys.claim(worker, { key, fingerprint: "7" }, (result) => results.push(result));
      return results;
    };
    const again = () => new KeyClaims(new KeyFile(options), clock);
    return { keys, claim, again, clock, end: () => rmSync(folder, { recursive: true }) };
  }

  test("the first is granted, the others wait for its result, which survives a restart", () => {
    const { keys, claim, again, end } = claims();
    expect(claim(1)).toEqual([null]);
    const second = claim(2);
    expect(second).toEqual([]);
    keys.publishing("k");
    keys.published("k", "id-1", 4);
    const known = { id: "id-1", fingerprint: "7", receivers: 4 };
    expect([second, claim(3)]).toEqual([[known], [known]]);
    const results: unknown[] = [];
    again().claim(1, { key: "k", fingerprint: "7" }, (result) => results.push(result));
    expect(results).toEqual([known]);
    end();
  });

  test("a worker that ends before its message was ordered passes the claim on; afterwards it does not", () => {
    const { keys, claim, end } = claims();
    claim(1);
    const [second, third] = [claim(2), claim(3)];
    keys.removeWorker(1);
    expect([second, third]).toEqual([[null], []]);
    keys.publishing("k");
    keys.removeWorker(2);
    expect(third).toEqual([]);
    keys.published("k", "id-2", 0);
    expect(third).toEqual([{ id: "id-2", fingerprint: "7", receivers: 0 }]);
    end();
  });

  test("a publish that failed may be repeated", () => {
    const { keys, claim, end } = claims();
    claim(1);
    keys.unclaim(2, "k");
    const second = claim(2);
    expect(second).toEqual([]);
    keys.unclaim(1, "k");
    expect(second).toEqual([null]);
    end();
  });
});

test("the limits of an instance: a worker that ends gives back its places and its users", () => {
  const limits = new InstanceLimits(
    { maxConnections: 3, maxConnectionsPerUser: 2, connectRate: 0 },
    manualClock(),
  );
  const enter = (worker: number) => limits.enter(worker, { rateKey: "", takesPlace: true });
  expect([enter(1), enter(1), enter(2), enter(2)]).toEqual([null, null, null, "full"]);
  expect([limits.confirm(1, "anna"), limits.confirm(2, "anna"), limits.confirm(2, "anna")]).toEqual([
    true,
    true,
    false,
  ]);
  limits.leave(2, null);
  expect([enter(2), enter(2)]).toEqual([null, "full"]);
  limits.removeWorker(1);
  expect([limits.confirm(2, "anna"), limits.confirm(2, "anna")]).toEqual([true, false]);
  expect([enter(2), enter(2), enter(2)]).toEqual([null, null, "full"]);
});

test("summed metrics: a counter does not fall with a worker, and what all workers count alike counts once", async () => {
  const sum = new MetricsSum(manualClock());
  const of = (boot: string, deliveries: number, messages: number, connections: number): ProcessMetrics => {
    const metric = (name: string, type: string, value: number) => ({
      ...{ name, help: name, type, aggregator: "sum", values: [{ value, labels: {} }] },
    });
    const metrics = [
      metric("slipway_push_deliveries_total", "counter", deliveries),
      metric("slipway_push_messages_total", "counter", messages),
      metric("slipway_push_connections", "gauge", connections),
    ];
    return { boot, metrics: metrics as unknown as ProcessMetrics["metrics"] };
  };
  const read = async (...processes: ProcessMetrics[]) => {
    const { text } = await sum.textOf(processes, {});
    return [...text.matchAll(/^slipway_push_\w+ (\d+)$/gm)].map(([, value]) => Number(value));
  };
  expect(await read(of("a", 10, 5, 2), of("b", 20, 5, 3))).toEqual([30, 5, 5]);
  expect(await read(of("a", 12, 7, 2), of("b", 20, 7, 3))).toEqual([32, 7, 5]);
  expect(await read(of("b", 21, 8, 3), of("c", 4, 1, 1))).toEqual([37, 8, 4]);
});
