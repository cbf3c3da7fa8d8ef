import { afterEach, expect, test } from "bun:test";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { manualClock } from "../../src/clock.ts";
import { WorkerProcesses } from "../../src/workers/supervisor/worker-processes.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder("worker-processes");
let processes: WorkerProcesses | undefined;

afterEach(async () => {
  processes?.stopping();
  processes?.killAll();
  await processes?.ended();
});

/** Workers whose program sleeps; `started` lists the attempts to start one. */
function sleepingWorker() {
  const program = join(folder, "worker");
  const install = () => {
    writeFileSync(program, "#!/bin/sh\nexec sleep 1000\n");
    chmodSync(program, 0o700);
  };
  install();
  const clock = manualClock();
  const seen = { started: [] as number[], hopeless: [] as string[], log: [] as string[] };
  const started = new WorkerProcesses({
    command: [program],
    env: { PATH: process.env.PATH },
    inputOf: (worker) => `${seen.started.push(worker)}`,
    onHopeless: (reason) => seen.hopeless.push(reason),
    clock,
    log: pino({ base: null }, { write: (line) => void seen.log.push(line) }),
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
  await eventually("it is tried several times", () => seen.started.length >= 4);
  install();
  const failed = seen.started.length;
  await eventually("it is tried again", () => seen.started.length > failed);
  expect(seen.hopeless).toEqual([]);
  started.kill(1);
  await eventually("it ran, and is replaced", () => seen.started.length > failed + 1);
});

test("a worker that could not be started for a minute is reported", async () => {
  const { started, seen, clock, remove } = sleepingWorker();
  started.startAll(1);
  started.allServe();
  remove();
  started.kill(1);
  await eventually("it is tried again", () => seen.started.length >= 2);
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

test("a worker without a connection is replaced; a connected worker is not", async () => {
  const { started, seen } = sleepingWorker();
  started.startAll(2);
  started.allServe();
  // A check comes every second; the limit is half a minute.
  const check = (times: number) => {
    for (let at = 0; at < times; at++) started.endUnconnected(new Set([1]));
  };
  check(31);
  expect(seen.log).toEqual([]);
  check(1);
  expect(seen.log).toEqual([expect.stringContaining('"worker":2')]);
  await eventually("it is replaced", () => seen.started.length === 3);
  expect(seen.started).toEqual([1, 2, 2]);
  seen.log.length = 0;
  check(31);
  expect(seen.log).toEqual([]);
});
