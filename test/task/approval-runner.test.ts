import { afterAll, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { answer, guardedProject } from "../support/approval-scene.ts";
import { deployClient, textOf } from "../support/deploy-server.ts";
import { setUpServerProcess } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { startRunnerProcess } from "../support/runner-process.ts";
import { runnerFolderOf } from "../support/temporary-folder.ts";

const scene = await setUpServerProcess();
const { repository, dataDir } = scene;
let server = await deployClient(scene.server.url, dataDir);
const guarded = (deploy: object = {}, more: object = {}) =>
  guardedProject(server, { url: repository.url, dataDir }, deploy, more);
const requested = async (projectId: number) => server.reach((await server.run(projectId)).id, "waiting");

/** The folders of the tasks of a project on the local runner. */
function workspacesOf(projectId: number): string[] {
  const folder = join(runnerFolderOf(dataDir), "releases", String(projectId));
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map((name) => join(folder, name));
}

test("kill -9 of the runner and of the server keeps a task waiting with its workspace, which is deployed afterwards", async () => {
  const { id, deployed } = await guarded();
  const task = await requested(id);
  process.kill(server.runnerPid(), "SIGKILL");
  await scene.server.end("SIGKILL");
  server = await deployClient((await scene.start()).url, dataDir);
  expect(await server.task(task.id)).toMatchObject({ state: "waiting", commit: task.commit });
  expect(deployed()).toEqual([]);
  await answer(server.admin, task.id, "approve");
  await server.reach(task.id, "success");
  expect(deployed()).toEqual([`${task.commit} red 1`]);
});

test("a workspace that was deleted is built again with what was pinned, and its approval is requested again", async () => {
  const { id, deployed } = await guarded();
  const task = await requested(id);
  const folders = workspacesOf(id);
  expect(folders.length).toBe(1);
  for (const folder of folders) rmSync(folder, { recursive: true });
  await server.admin.expect(200, "PATCH", `/api/projects/${id}`, { env: { COLOR: "blue" } });
  await repository.push({ "app.txt": "newer\n" });
  await answer(server.admin, task.id, "approve");
  await eventually("the task waits again", async () => {
    const { state, approval } = await server.task(task.id);
    return state === "waiting" && approval?.by === null;
  });
  expect(deployed()).toEqual([]);
  expect(textOf(await server.log(task.id))).toContain(
    "The approved build is gone from its runner. It is built again, and its approval is requested again.",
  );
  await answer(server.admin, task.id, "approve");
  await server.reach(task.id, "success");
  expect(deployed()).toEqual([`${task.commit} red 2`]);
});

test("built workspaces stay beside the releases, and go when nobody waits for them any more", async () => {
  const { id, deployed } = await guarded();
  const waiting = [await requested(id), await requested(id), await requested(id), await requested(id)];
  expect(workspacesOf(id).length).toBe(4);
  const [first, second, third, fourth] = waiting.map((task) => task.id);
  await answer(server.admin, Number(second), "approve");
  await server.reach(Number(second), "success");
  expect((await server.task(Number(first))).state).toBe("canceled");
  await answer(server.admin, Number(third), "reject");
  await answer(server.admin, Number(fourth), "approve");
  await server.reach(Number(fourth), "success");
  expect(deployed().length).toBe(2);
  const left = workspacesOf(id).map((folder) => Number(basename(folder)));
  expect(left.toSorted()).toEqual([Number(second), Number(fourth)].toSorted());
});

test("only the runner with the build deploys it; when that runner is disabled, another one builds it again and asks again", async () => {
  const runners: { id: number; stop(): Promise<void> }[] = [];
  afterAll(async () => {
    for (const { stop } of runners) await stop();
  });
  const label = `pool-${crypto.randomUUID().slice(0, 8)}`;
  const add = async (name: string) => {
    const { id, token } = await server.admin.expect<{ id: number; token: string }>(
      201,
      "POST",
      "/api/runners",
      { name, labels: [label] },
    );
    const { stop } = startRunnerProcess(server.url, token, 1, { SLIPWAY_RUNNER_LABELS: label });
    runners.push({ id, stop });
    return id;
  };
  const one = await add("one");
  const { id, deployed } = await guarded({}, { labels: [label] });
  const task = await requested(id);
  expect(task.runnerId).toBe(one);
  const two = await add("two");
  await eventually("the second runner has connected", async () => {
    const { items } = await server.admin.expect<{ items: { id: number; lastSeenAt: string | null }[] }>(
      200,
      "GET",
      "/api/runners",
    );
    return items.some((runner) => runner.id === two && runner.lastSeenAt !== null);
  });
  // Both ask for work now; the approved deploy goes to the runner that built it.
  for (let round = 0; round < 3; round++) {
    const again = round === 0 ? task : await requested(id);
    await answer(server.admin, again.id, "approve");
    expect((await server.reach(again.id, "success")).attempt).toBe(2);
  }
  expect(deployed().length).toBe(3);
  await server.admin.expect(200, "POST", `/api/projects/${id}/move`, { runnerId: null });
  const last = await requested(id);
  const other = last.runnerId === one ? two : one;
  await server.admin.expect(200, "POST", `/api/projects/${id}/move`, { runnerId: null });
  await server.admin.expect(200, "PATCH", `/api/runners/${last.runnerId}`, { disabled: true });
  await answer(server.admin, last.id, "approve");
  await eventually("it waits again", async () => {
    const now = await server.task(last.id);
    return now.state === "waiting" && now.runnerId === other;
  });
  expect(deployed().length).toBe(3);
  expect(textOf(await server.log(last.id))).toContain("its approval is requested again");
  await answer(server.admin, last.id, "approve");
  await server.reach(last.id, "success");
  expect(deployed().length).toBe(4);
});
