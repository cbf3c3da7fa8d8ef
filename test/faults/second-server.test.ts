import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildCli } from "../support/cli.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";

describe("while a server runs on an SQLite database", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "slipway-second-"));
  const slipway = buildCli({});
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServerProcess(dataDir, { "runner-enabled": "false" });
  }, 60_000);
  afterAll(async () => {
    await server.end("SIGTERM");
    rmSync(dataDir, { recursive: true, force: true });
  });

  test("a second one is refused: it would not see what the first changes, such as a key that was reset", async () => {
    const second = await slipway(["deploy", "--server-listen", "127.0.0.1:0", "--data-dir", dataDir]);
    expect(second.exitCode).toBe(1);
    expect(second.stderr).toContain("Another Slipway server is running on the database");
  }, 60_000);

  test("its key is not exchanged under it: what it seals next would be lost", async () => {
    const rotation = await slipway(["key", "rotate", "--data-dir", dataDir]);
    expect([rotation.exitCode, rotation.stdout]).toEqual([1, ""]);
    expect(rotation.stderr).toContain("Stop it first");
  }, 60_000);

  test("a backup is taken all the same", async () => {
    const backup = await slipway(["backup", join(dataDir, "now.bak"), "--data-dir", dataDir]);
    expect(backup.exitCode).toBe(0);
  }, 60_000);

  test("a server that was killed leaves no lock behind", async () => {
    await server.end("SIGKILL");
    const rotation = await slipway(["key", "rotate", "--data-dir", dataDir]);
    expect([rotation.exitCode, rotation.stderr]).toEqual([0, ""]);
    server = await startServerProcess(dataDir, { "runner-enabled": "false" });
  }, 60_000);
});
