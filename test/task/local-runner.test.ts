import { expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { startDeployServer } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { ordinary } from "../support/ordinary-user.ts";
import { isAlive } from "../support/process-watch.ts";
import { PushClient } from "../support/push-client.ts";
import { startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The descriptors of this process for files with this name. */
function openFiles(name: string): string[] {
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)].filter((path) => path.endsWith(name));
    } catch {
      // The descriptor with which the folder itself was read.
      return [];
    }
  });
}

/** The command line of a process; empty if it is none, or has ended. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

test("a local runner that ends at its start is started again ever less often, with its reason in the log, and costs no open files", async () => {
  const dataDir = temporaryFolder("task");
  writeFileSync(join(dataDir, "a file"), "");
  const server = await startDeployServer({ "runner.dir": join(dataDir, "a file", "runner") }, dataDir);
  try {
    const startedAt = () =>
      server.logLines
        .filter((line) => line.includes('"local runner started"'))
        .map((line) => (JSON.parse(line) as { time: number }).time);
    await eventually("four runners were started", () => startedAt().length >= 4);
    expect(openFiles("runner/runner.log")).toEqual([]);
    const gone = server.logLines.filter((line) => line.includes('"the local runner is gone"'));
    expect(gone.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ lastLine: expect.stringContaining(join(dataDir, "a file")) }),
    );
    const { items } = await server.admin.expect<{ items: { lastEnd: { text: string } | null }[] }>(
      200,
      "GET",
      "/api/runners",
    );
    expect(items[0]?.lastEnd?.text).toContain(join(dataDir, "a file"));
    expect(items[0]?.lastEnd?.text).not.toContain('"msg"');
    const [, , third = 0, fourth = 0] = startedAt();
    expect(fourth - third).toBeGreaterThan(3000);
  } finally {
    await server.stop();
    server.remove();
  }
});

test("a local runner that cannot be recorded is ended: no second one takes tasks beside it", async () => {
  const dataDir = temporaryFolder("task");
  // In the way of the record.
  mkdirSync(join(dataDir, "runner/local.pid/folder"), { recursive: true });
  const server = await startDeployServer({}, dataDir);
  try {
    const refusals = () => server.logLines.filter((line) => line.includes("could not be started"));
    await eventually("two runners were tried", () => refusals().length >= 2);
    const address = join(dataDir, "runner/local.json");
    const runners = () => readdirSync("/proc").filter((pid) => commandOf(pid).includes(address));
    await eventually("none of them runs", () => runners().length === 0, 5000);
  } finally {
    await server.stop();
    server.remove();
  }
});

test("a server that cannot change its data folder closes its connections with 1012 and ends its runner", async () => {
  const dataDir = temporaryFolder("task");
  const server = await startServerProcess(
    dataDir,
    { "push-drain-period": "1s" },
    [],
    {},
    undefined,
    ordinary,
  );
  const folder = join(dataDir, "runner");
  try {
    const { code } = await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", {
      for: "console",
    });
    const client = await PushClient.open(`${server.url.replace("http", "ws")}/ws?code=${code}&temp=1`, [
      "slipway.v1",
    ]);
    const runner = server.runnerPid();
    chmodSync(folder, 0o500);
    expect(await server.end("SIGTERM")).toBe(0);
    expect((await client.ended()).code).toBe(1012);
    await eventually("its runner ends", () => !isAlive(runner));
  } finally {
    chmodSync(folder, 0o700);
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test("a local runner ends when its data folder was deleted", async () => {
  const dataDir = temporaryFolder("task");
  const server = await startServerProcess(dataDir, {});
  const runner = server.runnerPid();
  await server.end("SIGKILL");
  rmSync(dataDir, { recursive: true, force: true });
  await eventually("it ends", () => !isAlive(runner));
});
