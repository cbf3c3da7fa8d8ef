import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LogFiles } from "../../src/bus/local.ts";
import { LogFile } from "../../src/bus/log-file.ts";
import { manualClock } from "../../src/clock.ts";
import type { ToWorker } from "../../src/workers/protocol.ts";
import { InstanceLimits } from "../../src/workers/supervisor/instance-limits.ts";
import { MetricsSum, type ProcessMetrics } from "../../src/workers/supervisor/metrics-sum.ts";
import { type Receiver, SharedLog } from "../../src/workers/supervisor/shared-log.ts";

class RecordingWorker implements Receiver {
  readonly worker: number;
  readonly frames: string[] = [];

  constructor(worker: number) {
    this.worker = worker;
  }

  readonly offsets: number[] = [];

  send(header: ToWorker, body?: Uint8Array): void {
    const record = body ? (JSON.parse(Buffer.from(body).toString()) as { id: string; type?: string }) : null;
    const text = record?.type === "marker" ? "(marker)" : (record?.id ?? "");
    this.frames.push(`${header.type} ${text}`.trim());
    if (header.type === "record") this.offsets.push(header.offset);
  }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

describe("the log of the supervisor", () => {
  const clock = manualClock();
  const newLog = (files: LogFiles = { broadcast: null, control: null }) =>
    new SharedLog({
      windowsMs: { broadcast: 60_000, control: 60_000 },
      maxBytes: 1_000,
      files,
      clock,
      steady: clock,
    });
  const append = (to: SharedLog, text: string, onHandled: (affected: number) => void = () => {}) =>
    to.append("broadcast", Buffer.from(`{"id":"${text}"}`), onHandled);
  const marker = "record (marker)";

  test("an append is done when every worker has handled the record, with the sum of their counts", async () => {
    const [one, two, log] = [new RecordingWorker(1), new RecordingWorker(2), newLog()];
    log.read(one);
    log.read(two);
    const done: number[] = [];
    append(log, "a", (affected) => done.push(affected));
    append(log, "b", (affected) => done.push(affected));
    await turn();
    const [a = 0, b = 0] = one.offsets.slice(-2);
    log.handled(one, b, [a, 10, b, 1]);
    expect(done).toEqual([]);
    log.handled(two, a, [a, 5]);
    expect(done).toEqual([15]);
    log.leave(two);
    expect(done).toEqual([15, 1]);
  });

  test("a worker that hangs delays nobody for long, and a worker that is busy gets the rest together", async () => {
    const [one, log] = [new RecordingWorker(1), newLog()];
    log.read(one);
    const done: number[] = [];
    append(log, "a", (affected) => done.push(affected));
    await turn();
    append(log, "b");
    append(log, "c");
    await turn();
    expect(one.frames).toEqual([marker, "caughtUp", "record a"]);
    clock.advance(2_000);
    log.finishOverdue();
    expect(done).toEqual([0]);
    log.handled(one, one.offsets.at(-1) ?? 0, []);
    expect(one.frames).toEqual([marker, "caughtUp", "record a", "record b", "record c"]);
  });

  test("records that wait are sent before an answer that must not overtake them", async () => {
    const [one, log] = [new RecordingWorker(1), newLog()];
    log.read(one);
    append(log, "a");
    log.sendWaiting(one);
    expect(one.frames).toEqual([marker, "caughtUp", "record a"]);
    await turn();
    expect(one.frames).toEqual([marker, "caughtUp", "record a"]);
  });

  test("a worker that starts gets the last records, and of the old ones the newest", () => {
    const log = newLog();
    for (const text of ["a", "b"]) append(log, text);
    const one = new RecordingWorker(1);
    log.read(one);
    expect(one.frames).toEqual([marker, "record a", "record b", "caughtUp"]);
    clock.advance(61_000);
    const two = new RecordingWorker(2);
    log.read(two);
    expect(two.frames).toEqual(["record b", "caughtUp"]);
  });

  test("the next supervisor continues the log from its file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "slipway-log-"));
    const fileOf = (name: string) =>
      new LogFile({
        file: join(folder, name),
        windowMs: 60_000,
        maxBytes: 1_000,
        clock,
        steady: clock,
        machine: null,
        onFault: (reason) => expect(reason).toBe(""),
        onCut: () => {},
      });
    const open = () => newLog({ broadcast: fileOf("broadcast"), control: fileOf("control") });
    const before = open();
    append(before, "a");
    before.append("control", Buffer.from('{"id":"c"}'), () => {});
    await turn();
    const reader = new RecordingWorker(1);
    open().read(reader);
    expect(reader.frames).toEqual([marker, "record a", "record c", "caughtUp"]);
    rmSync(folder, { recursive: true });
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
