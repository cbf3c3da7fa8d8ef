import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { asUser, usualRunnerUser } from "../../src/runner/sandbox/runner-user.ts";
import { textOf } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { machineWithout } from "../support/machine-without.ts";
import { isAlive } from "../support/process-watch.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { makeTestUser } from "../support/test-user.ts";

const bwrap = await serviceUrl("bwrap");
const user = await makeTestUser();
const asOrdinaryUser = user === undefined ? [] : asUser({ ...user, shell: "/bin/sh" }, []);
const ordinaryHome = { HOME: user?.home ?? "" };

let server: ServerProcess;
let dataDir: string;
afterEach(async () => {
  const runner = server.runnerPid();
  await server.end("SIGTERM");
  await eventually("the idle runner ends with its server", () => !isAlive(runner));
});

/** Starts the server with nothing prepared and deploys the sample; returns its runner as people see it. */
async function deploySample(prefix: string[], env: Record<string, string> = {}): Promise<unknown> {
  dataDir = temporaryFolder("unprepared");
  server = await startServerProcess(dataDir, { "runner-isolation": "auto" }, [], env, undefined, prefix);
  const { taskId } = await server.admin.expect<{ taskId: number }>(201, "POST", "/api/samples");
  await server.reach(taskId, "success");
  const { items } = await server.admin.expect<{ items: unknown[] }>(200, "GET", "/api/runners");
  return items[0];
}

/** Who runs the scripts of the sample. */
async function accountOfScripts(): Promise<string> {
  await server.admin.expect(200, "PATCH", "/api/projects/1", { stages: { build: { script: "id -un" } } });
  const { id } = await server.reach((await server.run(1)).id, "success");
  return textOf((await server.log(id)).filter(({ stage }) => stage === "build"));
}

const isolatedByNothing = {
  isolation: "none",
  isolationNote: expect.stringContaining("install the package bubblewrap"),
  isolationNoteParts: [{ code: "no_sandbox_installed", values: {} }],
};
const sandboxed = { isolation: "sandbox", isolationNote: "", isolationNoteParts: [] };

describe.skipIf(!user || !bwrap)("the sample is deployed on a machine with nothing prepared", () => {
  test("by root", async () => {
    expect(await deploySample([])).toMatchObject(sandboxed);
    expect(await accountOfScripts()).toContain(usualRunnerUser);
  });

  test("by root without bubblewrap, and the runner says how to get sandboxes", async () => {
    expect(await deploySample(machineWithout(["bwrap"]))).toMatchObject(isolatedByNothing);
    expect(await accountOfScripts()).toContain(usualRunnerUser);
  });

  test("by an ordinary user", async () => {
    expect(await deploySample(asOrdinaryUser, ordinaryHome)).toMatchObject(sandboxed);
  });

  test("by an ordinary user without bubblewrap, and the runner says how to get sandboxes", async () => {
    const prefix = [...machineWithout(["bwrap"]), ...asOrdinaryUser];
    expect(await deploySample(prefix, ordinaryHome)).toMatchObject(isolatedByNothing);
  });

  test("by root where no account can be created: scripts run as nobody, and the start says so", async () => {
    expect(await deploySample(machineWithout(["useradd"], usualRunnerUser))).toMatchObject(sandboxed);
    expect(readFileSync(join(dataDir, "runner/runner.log"), "utf8")).toContain("scripts run as nobody");
    expect(await accountOfScripts()).toContain("nobody");
  });
});
