import { expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { ordinary } from "../support/ordinary-user.ts";
import { isAlive } from "../support/process-watch.ts";
import { PushClient } from "../support/push-client.ts";
import { startServerProcess } from "../support/server-process.ts";

test("a server that cannot change its data folder closes its connections with 1012 and ends its runner", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "slipway-task-"));
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
