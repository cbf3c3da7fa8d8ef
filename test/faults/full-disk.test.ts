import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { buildCli } from "../support/cli.ts";
import { eventually } from "../support/eventually.ts";
import { makeHook, type TestHook } from "../support/hook.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { canMount, makeSmallDisk, type SmallDisk } from "../support/small-disk.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const push = { payload: { event: "push", ref: "refs/heads/main", message: "x".repeat(20_000) } };
const walMaxBytes = 1024 * 1024;

describe.skipIf(!(await canMount()))("a server whose disk is full", () => {
  let disk: SmallDisk;
  let server: ServerProcess;
  let hook: TestHook;
  const settings = { "runner-enabled": "false", "webhook-limit-per-minute": "100000" };
  const readyz = async () => {
    const response = await fetch(`${server.url}/readyz`);
    return { status: response.status, text: await response.text() };
  };
  const walBytes = () => statSync(join(disk.path, "slipway.db-wal"), { throwIfNoEntry: false })?.size ?? 0;
  beforeAll(async () => {
    disk = await makeSmallDisk(48);
    server = await startServerProcess(disk.path, settings);
    hook = await makeHook(server, { debounceSeconds: 0 });
  });
  afterAll(async () => {
    await server.end("SIGKILL");
    await disk.remove();
  });

  test("is not ready, also before the first delivery fails; is ready again when there is space", async () => {
    expect((await hook.deliver(push)).status).toBe(202);
    expect((await readyz()).status).toBe(200);
    for (let round = 0; round < 2; round++) {
      await eventually("the log is short", () => walBytes() <= walMaxBytes);
      disk.fill();
      expect(await readyz()).toMatchObject({ status: 503 });
      expect((await readyz()).text).toBe(
        "the database cannot be written: its disk may be full, or it only reads\n",
      );
      expect((await fetch(`${server.url}/livez`)).status).toBe(200);
      await eventually("deliveries fail", async () => (await hook.deliver(push)).status === 500);
      expect((await readyz()).status).toBe(503);
      disk.free();
      await eventually("the server is ready again", async () => (await readyz()).status === 200);
      expect((await hook.deliver(push)).status).toBe(202);
    }
  });

  test("writes nothing for a readiness check while there is space", async () => {
    const lastWrite = () => statSync(join(disk.path, "slipway.db-wal")).mtimeMs;
    // Repeated, because the server may still do work of its own after the first test.
    await eventually("200 checks write nothing", async () => {
      const before = [walBytes(), lastWrite()];
      for (let asked = 0; asked < 200; asked++) expect((await readyz()).status).toBe(200);
      return Bun.deepEquals([walBytes(), lastWrite()], before);
    });
  });

  test("frees the space of its write-ahead log when it is idle, and at a restart", async () => {
    // The log may be short again before the last answer.
    let longest = 0;
    const deliver = async () => {
      await hook.deliver(push);
      longest = Math.max(longest, walBytes());
    };
    await Promise.all(Array.from({ length: 60 }, deliver));
    expect(longest).toBeGreaterThan(walMaxBytes);
    await eventually("the log is short again", () => walBytes() <= walMaxBytes);
    await server.end("SIGKILL");
    await leaveLongLog(join(disk.path, "slipway.db"));
    expect(walBytes()).toBeGreaterThan(20 * walMaxBytes);
    disk.fill();
    server = await startServerProcess(disk.path, settings);
    expect(walBytes()).toBeLessThanOrEqual(walMaxBytes);
    expect((await readyz()).status).toBe(200);
    await server.end("SIGTERM");
    expect(walBytes()).toBeLessThanOrEqual(walMaxBytes);
    disk.free();
    server = await startServerProcess(disk.path, settings);
  });
});

/** A write-ahead log of 24 MB whose pages are all in the database, as after a kill. */
async function leaveLongLog(path: string): Promise<void> {
  const program = `
    import { Database } from "bun:sqlite";
    const file = new Database(${JSON.stringify(path)});
    file.run("pragma wal_autocheckpoint = 0");
    for (let round = 0; round < 24; round++)
      file.run("insert into meta (name, value) values ('long', ?) on conflict do update set value = excluded.value", [
        String.fromCharCode(97 + round).repeat(1024 * 1024),
      ]);
    file.prepare("pragma wal_checkpoint(passive)").all();
    process.kill(process.pid, "SIGKILL");`;
  await Bun.spawn([process.execPath, "-e", program]).exited;
}

test.skipIf(!(await canMount()))("a start on a full disk names the folder and the way out", async () => {
  await using disk = await makeSmallDisk(2);
  const slipway = buildCli({ SLIPWAY_RUNNER_ENABLED: "false", SLIPWAY_DATA_DIR: disk.path });
  for (const leave of [64 * 1024, 512 * 1024, 1024 * 1024]) {
    disk.fill(leave);
    const run = await slipway(["start", "--server-listen", "127.0.0.1:0"]);
    expect([run.exitCode, run.stderr]).toEqual([
      1,
      `The disk of ${disk.path} is full. Free some space on it, or set data.dir to another folder.\n`,
    ]);
  }
});

test.skipIf(!(await canMount()))(
  "a restore into and a backup onto a full disk name the folder or the file",
  async () => {
    await using disk = await makeSmallDisk(2);
    const dataDir = temporaryFolder("full-disk");
    const server = await startServerProcess(dataDir, { "runner-enabled": "false" });
    await server.end("SIGTERM");
    const slipway = buildCli({});
    const backup = join(dataDir, "whole.backup");
    expect((await slipway(["backup", "--data-dir", dataDir, backup])).exitCode).toBe(0);
    disk.fill(64 * 1024);
    expect(await slipway(["restore", "--data-dir", join(disk.path, "data"), backup])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^The disk of \S+ is full\. Free some space/),
    });
    disk.fill();
    const second = join(disk.path, "second.backup");
    expect(await slipway(["backup", "--data-dir", dataDir, second])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`The backup ${second} cannot be written: ENOSPC`),
    });
  },
);
