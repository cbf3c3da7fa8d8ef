import { afterAll, afterEach, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { manualClock } from "../../src/clock.ts";
import { WorkerProcesses } from "../../src/workers/supervisor/worker-processes.ts";
import { eventually } from "../support/eventually.ts";

const folder = mkdtempSync(join(tmpdir(), "slipway-worker-processes-"));
let processes: WorkerProcesses | undefined;

afterEach(async () => {
  processes?.stopping();
  processes?.killAll();
  await processes?.ended();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One worker whose program sleeps; `starts` counts the attempts to start it. */
function sleepingWorker() {
  const program = join(folder, "worker");
  const install = () => {
    writeFileSync(program, "#!/bin/sh\nexec sleep 1000\n");
    chmodSync(program, 0o700);
  };
  install();
  const clock = manualClock();
  const seen = { starts: 0, hopeless: [] as string[] };
  const started = new WorkerProcesses({
    command: [program],
    env: { PATH: process.env.PATH },
    inputOf: () => `${++seen.starts}`,
    onHopeless: (reason) => seen.hopeless.push(reason),
    clock,
    log: pino({ level: "silent" }),
  });
  processes = started;
  return { started, seen, clock, install, remove: () => rmSync(program) };
}

test("a worker that cannot be started is tried again, and is started when it can be", async () => {
  const { started, seen, install, remove } = sleepingWorker();
  started.startAll(1);
  started.allServe();
  remove();
  started.kill(1);
  await eventually("it is tried several times", () => seen.starts >= 4);
  install();
  const failed = seen.starts;
  await eventually("it is tried again", () => seen.starts > failed);
  expect(seen.hopeless).toEqual([]);
  started.kill(1);
  await eventually("it ran, and is replaced", () => seen.starts > failed + 1);
});

test("a worker that could not be started for a minute is reported", async () => {
  const { started, seen, clock, remove } = sleepingWorker();
  started.startAll(1);
  started.allServe();
  remove();
  started.kill(1);
  await eventually("it is tried again", () => seen.starts >= 2);
  clock.advance(60_000);
  await eventually("it is reported", () => seen.hopeless.length > 0);
  expect(seen.hopeless).toEqual([expect.stringMatching(/^worker 1 could not be started: .*ENOENT/)]);
});

test("a first start that is not possible is reported at once", () => {
  const { started, seen, remove } = sleepingWorker();
  remove();
  started.startAll(1);
  expect(seen.hopeless).toEqual([expect.stringMatching(/^worker 1 could not be started: .*ENOENT/)]);
});
