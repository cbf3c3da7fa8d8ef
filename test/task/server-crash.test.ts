import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setUpServerProcess } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { isAlive } from "../support/process-watch.ts";

const { repository, dataDir, start, ...first } = await setUpServerProcess();
let { server } = first;

/** Counts for some seconds, so that a server can restart meanwhile. */
const count = "i=1; while [ $i -le 60 ]; do echo $i; i=$((i+1)); sleep 0.05; done";
const counted = Array.from({ length: 60 }, (_, index) => String(index + 1));

describe("kill -9 of the server", () => {
  test("mid-run: the runner reconnects, the log has neither gap nor duplicate, the result arrives", async () => {
    const projectId = await server.project(repository.url, { build: count, deploy: "echo deployed" });
    const { id } = await server.run(projectId);
    await server.logged(id, "5");
    const runner = server.runnerPid();
    await server.end("SIGKILL");
    server = await start();
    const task = await server.reach(id, "success");
    expect(task.attempt).toBe(1);
    expect(server.runnerPid()).toBe(runner);
    const lines = await server.log(id);
    expect(lines.map((line) => line.index)).toEqual(lines.map((_, index) => index));
    expect(lines.filter((line) => line.stage === "build").map((line) => line.text)).toEqual(counted);
  });
});

describe("SIGTERM of the server", () => {
  test("leaves a running task to its runner, which finishes it with the next server and then stops", async () => {
    const projectId = await server.project(repository.url, { build: count });
    const { id } = await server.run(projectId);
    await server.logged(id, "5");
    const runner = server.runnerPid();
    const stoppedAt = performance.now();
    expect(await server.end("SIGTERM")).toBe(0);
    // A long poll of a runner (25 s) does not delay the end of the server.
    expect(performance.now() - stoppedAt).toBeLessThan(15_000);
    expect(isAlive(runner)).toBe(true);
    server = await start();
    expect(server.runnerPid()).not.toBe(runner);
    const task = await server.reach(id, "success");
    expect(task.attempt).toBe(1);
    const lines = await server.log(id);
    expect(lines.filter((line) => line.stage === "build").map((line) => line.text)).toEqual(counted);
    await eventually("the drained runner ends", () => !isAlive(runner));
  });
});

describe("two local runners of one server", () => {
  test("do not both stay: the runner that is not registered in the file stops", async () => {
    const first = server.runnerPid();
    rmSync(join(dataDir, "runner/local.pid"));
    await eventually("another runner is started", () => {
      try {
        return server.runnerPid() !== first;
      } catch {
        return false;
      }
    });
    await eventually("the first one ends", () => !isAlive(first));
    expect(isAlive(server.runnerPid())).toBe(true);
  });
});
