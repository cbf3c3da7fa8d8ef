import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { textOf } from "../support/deploy-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { watchProcesses } from "../support/process-watch.ts";

const { server, repository } = await setUpDeploy({ "tasks.concurrency": 8 });

const cancel = (id: number) => server.admin.expect<{ state: string }>(200, "POST", `/api/tasks/${id}/cancel`);

/** A script with a child in its group and another in its own session; both record their pids. */
const family = (file: string) => `
sh -c 'echo $$ >>${file}; exec sleep 300' &
setsid sh -c 'echo $$ >>${file}; exec sleep 300' &
echo $$ >>${file}
`;

/** A service of two processes in one session. Without a sandbox, a daemon that leaves the session escapes. */
const pair = (file: string) =>
  `sh -c 'echo $$ >>${file}; exec sleep 300' & echo $$ >>${file}; exec sleep 300`;

describe("a task that is canceled", () => {
  test("while queued never runs", async () => {
    const projectId = await server.project(repository.url, { build: "echo begun; sleep 300" });
    const first = await server.run(projectId);
    await server.logged(first.id, "begun");
    const second = await server.run(projectId);
    expect(second).toMatchObject({ state: "queued", queuePosition: 1 });
    expect(await cancel(second.id)).toMatchObject({ state: "canceled", reason: "canceled by admin" });
    await cancel(first.id);
    await server.reach(first.id, "canceled");
    expect(await server.log(second.id)).toEqual([]);
  });

  test("while running is canceling until all its processes have ended, then canceled", async () => {
    const watch = watchProcesses();
    const projectId = await server.project(repository.url, {
      build: `${family(watch.file)} echo begun; wait`,
      deploy: "echo never",
    });
    const { id } = await server.run(projectId);
    await watch.all(3);
    await server.logged(id, "begun");
    expect(await cancel(id)).toMatchObject({ state: "canceling" });
    const task = await server.reach(id, "canceled");
    expect(watch.alive()).toEqual([]);
    expect(task.reason).toBe("canceled by admin");
    expect(task.stages.map(({ state }) => state)).toEqual(["canceled", "canceled", "skipped"]);
    expect(textOf(await server.log(id))).not.toContain("never");
  });

  test("while it starts a service ends the service too", async () => {
    const watch = watchProcesses();
    const web = { command: pair(watch.file), check: { command: "false" } };
    const projectId = await server.project(repository.url, {}, { pipeline: { start: { web } } });
    const { id } = await server.run(projectId);
    await watch.all(2);
    await cancel(id);
    await server.reach(id, "canceled");
    expect(watch.alive()).toEqual([]);
  });

  test("when it has ended does not change", async () => {
    const projectId = await server.project(repository.url, { build: "true" });
    const { id } = await server.run(projectId);
    await server.reach(id, "success");
    const answer = await server.admin.request("POST", `/api/tasks/${id}/cancel`);
    expect(answer.status).toBe(409);
    expect((await server.task(id)).state).toBe("success");
  });
});

describe("nothing survives a task", () => {
  test("that runs over its time and ignores SIGTERM", async () => {
    const watch = watchProcesses();
    const script = `trap '' TERM; ${family(watch.file)} echo begun; while :; do sleep 1; done`;
    const projectId = await server.project(repository.url, {}, { stages: { build: { script, timeout: 3 } } });
    const { id } = await server.run(projectId);
    const task = await server.reach(id, "timeout");
    expect(watch.alive()).toEqual([]);
    expect(task.reason).toBe("build ran longer than 3 s");
    expect(task.stages[0]).toMatchObject({ state: "timeout", exitCode: 137 });
  });

  test("that leaves children behind in build or deploy", async () => {
    const watch = watchProcesses();
    const projectId = await server.project(repository.url, {
      build: `${family(watch.file)} echo built`,
      deploy: `${family(watch.file)} echo deployed`,
    });
    const { id } = await server.run(projectId);
    await server.reach(id, "success");
    expect(watch.alive()).toEqual([]);
    expect(textOf(await server.log(id))).toContain("were ended");
  });

  test("whose service fails its check", async () => {
    const watch = watchProcesses();
    const web = { command: `echo started; ${pair(watch.file)}`, check: { tcp: "127.0.0.1:1", within: 1 } };
    const projectId = await server.project(repository.url, {}, { pipeline: { start: { web } } });
    const { id } = await server.run(projectId);
    const task = await server.reach(id, "failed");
    expect(task.reason).toContain("the check of the service web (127.0.0.1:1) did not pass within 1 s");
    expect(task.reason).toContain("last output: started");
    expect(watch.alive()).toEqual([]);
  });
});

test("a task whose check fails after its deploy does not count as live", async () => {
  const start = (more = {}) => ({ pipeline: { start: [{ script: "true", ...more }] } });
  const projectId = await server.project(repository.url, {}, start());
  const live = await server.reach((await server.run(projectId)).id, "success");
  const check = { tcp: "127.0.0.1:1", within: 1 };
  await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, start({ check }));
  await server.reach((await server.run(projectId)).id, "failed");
  expect(await server.admin.expect(200, "GET", `/api/projects/${projectId}`)).toMatchObject({
    liveTaskId: live.id,
  });
});

test("a service continues to run after its task, which has awaited its check", async () => {
  const watch = watchProcesses();
  const ready = join(server.scratch, "ready");
  const command = `sleep 1; echo $$ >>${watch.file}; touch ${ready}; exec sleep 300`;
  const web = { command, check: { command: `test -f ${ready}`, within: 10 } };
  const projectId = await server.project(repository.url, {}, { pipeline: { start: { web } } });
  const task = await server.reach((await server.run(projectId)).id, "success");
  expect(watch.alive()).toHaveLength(1);
  const project = await server.admin.expect(200, "GET", `/api/projects/${projectId}`);
  expect(project).toMatchObject({ liveTaskId: task.id });
});

describe("a project with supersede", () => {
  test("queued: a new task cancels the waiting task, not the running one", async () => {
    const projectId = await server.project(
      repository.url,
      { build: "echo begun; sleep 300" },
      { supersede: "queued" },
    );
    const running = await server.run(projectId);
    await server.logged(running.id, "begun");
    const waiting = await server.run(projectId);
    const newest = await server.run(projectId);
    expect(await server.task(waiting.id)).toMatchObject({
      state: "canceled",
      supersededBy: newest.id,
      reason: `superseded by task ${newest.id}`,
    });
    expect((await server.task(running.id)).state).toBe("running");
    for (const { id } of [newest, running]) await cancel(id);
    await server.reach(running.id, "canceled");
  });

  test("running: a new task ends the running one", async () => {
    const projectId = await server.project(
      repository.url,
      { build: "echo begun; sleep 300" },
      { supersede: "running" },
    );
    const running = await server.run(projectId);
    await server.logged(running.id, "begun");
    const newest = await server.run(projectId);
    expect(await server.reach(running.id, "canceled")).toMatchObject({ supersededBy: newest.id });
    await server.logged(newest.id, "begun");
    await cancel(newest.id);
    await server.reach(newest.id, "canceled");
  });
});
