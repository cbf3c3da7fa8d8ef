import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Reason, renderReason } from "../../src/reason/reason.ts";
import type { RunTask } from "../../src/runner/protocol.ts";
import { eventually } from "../support/eventually.ts";
import { type FakeServer, sampleInstruction, sampleLimits, startFakeServer } from "../support/fake-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { startServiceScene } from "../support/service-scene.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestRunner, type TestRunner } from "../support/test-runner.ts";

const megabyte = 1024 ** 2;
let repository: GitRepository;
beforeAll(async () => {
  repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" });
});

/** A build that leaves a file of so many megabytes. */
const fill = (megabytes: number) => `dd if=/dev/urandom of=big bs=1048576 count=${megabytes} 2>/dev/null`;

describe("a runner with a quota", () => {
  let server: FakeServer;
  let runner: TestRunner;
  let root: string;
  let nextId = 1;
  beforeAll(() => {
    server = startFakeServer();
    root = temporaryFolder("quota");
    runner = startTestRunner(server.url, root, { releases: 2, projectQuotaBytes: 20 * megabyte });
  });
  afterAll(async () => {
    runner.drain.abort();
    await runner.done;
    server.stop();
  });

  async function run(
    projectId: number,
    scripts: Parameters<typeof sampleInstruction>[1],
    more: Partial<RunTask> = {},
  ) {
    const taskId = nextId++;
    const logFrom = server.lines.length;
    server.instructions.push(
      sampleInstruction(repository.url, scripts, { taskId, projectId, logFrom, ...more }),
    );
    const found = () => server.finished.find((each) => each.taskId === taskId);
    await eventually(`task ${taskId} ends`, () => found() !== undefined);
    return { taskId, state: found()?.state, reason: renderReason((found()?.reason ?? "") as Reason) };
  }
  const ofLimit = (diskBytes: number) => ({ limits: { ...sampleLimits(), diskBytes } });
  const folders = { data: ["uploads"], scratch: [], sealed: true };
  const kept = (projectId: number) => readdirSync(join(root, "releases", String(projectId))).sort();

  test("reports what releases and data take after a task, each measurement once", async () => {
    const done = await run(
      1,
      { build: fill(3), deploy: "head -c 2097152 /dev/urandom >uploads/two" },
      { folders },
    );
    expect(done).toMatchObject({ state: "success" });
    await eventually("the report", () => server.disk.some(({ projectId }) => projectId === 1), 20_000);
    const use = server.disk.filter(({ projectId }) => projectId === 1);
    expect(use).toHaveLength(1);
    expect(Number(use[0]?.releasesBytes) / megabyte).toBeWithin(3, 3.6);
    expect(Number(use[0]?.dataBytes) / megabyte).toBeWithin(2, 2.2);
    expect(use[0]?.quotaBytes).toBe(20 * megabyte);
  });

  test("fails a deploy that exceeds the limit before its deploy, and names the sizes and the way out", async () => {
    const serving = await run(2, { build: fill(6), deploy: "true" }, ofLimit(10 * megabyte));
    expect(serving.state).toBe("success");
    const from = server.stages.length;
    const ran = join(root, "ran");
    const refused = await run(2, { build: fill(5), deploy: `touch ${ran}` }, ofLimit(10 * megabyte));
    expect(refused.state).toBe("failed");
    expect(refused.reason).toMatch(
      /^The new release takes 5(\.\d)? MB\. With the 6(\.\d)? MB of the other releases/,
    );
    expect(refused.reason).toContain("more than the 10 MB");
    expect(refused.reason).toContain("runner.releases");
    expect(refused.reason).toEndWith("raise the limit: limits.diskMb.");
    expect(existsSync(ran)).toBe(false);
    expect(server.stages.slice(from).join()).not.toContain("deploy");
    expect(kept(2)).toEqual([String(serving.taskId)]);
  });

  test("counts only the releases that stay, and the data", async () => {
    for (let count = 0; count < 4; count += 1)
      expect(await run(3, { build: fill(4), deploy: "true" }, ofLimit(10 * megabyte))).toMatchObject({
        state: "success",
      });
    expect(kept(3)).toHaveLength(2);
    const data = join(root, "data/3/uploads");
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, "file"), Buffer.alloc(4 * megabyte));
    const refused = await run(3, { build: fill(4), deploy: "true" }, ofLimit(10 * megabyte));
    expect(refused.state).toBe("failed");
    expect(refused.reason).toMatch(/the 4(\.\d)? MB of the project's data this is 12/);
  });

  test("its own quota counts if it is smaller, and a release that is kept comes back whatever the limit is", async () => {
    const first = await run(4, { build: fill(8), deploy: "true" }, ofLimit(100 * megabyte));
    expect(first.state).toBe("success");
    const refused = await run(4, { build: fill(15) }, ofLimit(100 * megabyte));
    expect(refused).toMatchObject({ state: "failed" });
    expect(refused.reason).toContain("more than the 20 MB");
    expect(refused.reason).toEndWith("raise the limit: runner.projectQuota.");
    const { taskId } = first;
    const from = {
      taskId,
      attempt: 1,
      ref: "refs/heads/main",
      commit: "a".repeat(40),
      message: "",
      author: "",
    };
    const back = await run(
      4,
      { deploy: "true" },
      {
        ...ofLimit(megabyte),
        release: { isKept: true, from, previous: null },
      },
    );
    expect(back).toMatchObject({ state: "success" });
  });
});

test("the server shows what a project takes, warns from 80 %, and takes it only from the project's runner", async () => {
  const scene = await startServiceScene();
  try {
    const { projectId } = await scene.deployed(["web"], { name: "shop", limits: { diskMb: 100 } });
    const { admin } = scene.server;
    const read = () =>
      admin.expect<{
        disk: unknown;
        warnings: string[];
        limits: Record<string, unknown>;
        revision: string;
      }>(200, "GET", `/api/projects/${projectId}`);
    const measured = async (releases: number, data: number, quotaBytes: number | null) => {
      const use = { projectId, releasesBytes: releases * megabyte, dataBytes: data * megabyte, quotaBytes };
      const answer = await scene.runner.post("services", { services: [], disk: [use] });
      expect(answer.status).toBe(200);
    };
    const ofDisk = (warnings: string[]) => warnings.filter((text) => text.includes("runner.projectQuota"));
    const before = await read();
    expect(before).toMatchObject({ disk: null, limits: { diskMb: 100, memoryMb: null } });

    await measured(50, 20, null);
    const fine = await read();
    expect(fine.disk).toEqual({
      releasesBytes: 50 * megabyte,
      dataBytes: 20 * megabyte,
      limitBytes: 100 * megabyte,
    });
    expect(ofDisk(fine.warnings)).toEqual([]);
    expect(fine.revision).toBe(before.revision);

    await measured(50, 31, null);
    expect(ofDisk((await read()).warnings)).toEqual([
      "Releases (50 MB) and data (31 MB) of this project take 81 % of the 100 MB that it may have; a deploy that exceeds it fails. Keep fewer releases (runner.releases), clean its data folder, or raise the limit (limits.diskMb of the project, runner.projectQuota of the runner).",
    ]);
    await measured(50, 31, 90 * megabyte);
    expect(await read()).toMatchObject({ disk: { limitBytes: 90 * megabyte } });

    const other = await admin.expect<{ token: string }>(201, "POST", "/api/runners", { name: "other" });
    const foreign = { projectId, releasesBytes: 1, dataBytes: 1, quotaBytes: null };
    const said = await fetch(`${scene.server.url}/api/runner/services`, {
      method: "POST",
      headers: { authorization: `Bearer ${other.token}` },
      body: JSON.stringify({ services: [], disk: [foreign] }),
    });
    expect(said.status).toBe(200);
    expect(await read()).toMatchObject({ disk: { releasesBytes: 50 * megabyte } });

    const instruction = scene.runner.claim();
    await scene.client.run(projectId);
    expect((await instruction)?.limits.diskBytes).toBe(100 * megabyte);
    await admin.expect(200, "PATCH", `/api/projects/${projectId}`, { limits: { diskMb: null } });
    expect(await read()).toMatchObject({ limits: { diskMb: null }, disk: { limitBytes: 90 * megabyte } });
    await admin.expect(422, "PATCH", `/api/projects/${projectId}`, { limits: { diskMb: 0 } });
  } finally {
    await scene.server.stop();
  }
});
