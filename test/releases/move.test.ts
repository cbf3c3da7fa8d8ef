import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { makeRepository } from "../support/git-repository.ts";
import { startRunnerProcess } from "../support/runner-process.ts";
import { startServerProcess } from "../support/server-process.ts";
import { makeSteppedClock } from "../support/stepped-clock.ts";

const { server, repository } = await setUpDeploy();
const running: ReturnType<typeof startRunnerProcess>[] = [];
afterAll(async () => {
  for (const runner of running) await runner.stop();
});

async function addRunner(url: string, admin: typeof server.admin, name: string) {
  const { id, token } = await admin.expect<{ id: number; token: string }>(201, "POST", "/api/runners", {
    name,
    labels: ["pool"],
  });
  const runner = startRunnerProcess(url, token, 1, { SLIPWAY_RUNNER_LABELS: "pool" });
  running.push(runner);
  return { id, runner };
}

test("a project waits for the runner with its releases with a reason, and builds on another one after a move", async () => {
  const { admin } = server;
  const file = join(server.dataDir, "moved");
  const builds = `${file}-builds`;
  const one = await addRunner(server.url, admin, "one");
  const project = await server.project(
    repository.url,
    { build: `echo x >> ${builds}`, deploy: `echo x >> ${file}` },
    { labels: ["pool"] },
  );
  const first = await server.reach((await server.run(project)).id, "success");
  expect(first.runnerId).toBe(one.id);
  const two = await addRunner(server.url, admin, "two");
  await admin.expect(200, "PATCH", `/api/runners/${one.id}`, { disabled: true });
  const { id } = await server.run(project);
  expect((await server.task(id)).waiting).toBe(
    "waiting: it was deployed on the runner one, which is disabled; enable it, or move the project to another runner, which builds it again",
  );
  await admin.expect(204, "DELETE", `/api/runners/${one.id}`);
  expect((await server.task(id)).waiting).toContain(
    `it was deployed on runner ${one.id}, which was deleted; move the project to another runner`,
  );
  expect((await server.task(id)).state).toBe("queued");
  await admin.expect(200, "POST", `/api/projects/${project}/move`, { runnerId: two.id });
  const moved = await server.reach(id, "success");
  expect(moved).toMatchObject({ runnerId: two.id });
  expect(moved.waiting).toBeUndefined();
  expect((await Bun.file(builds).text()).split("\n").length).toBe(3);
  expect(await admin.expect<object>(200, "GET", `/api/projects/${project}`)).toMatchObject({
    homeRunnerId: two.id,
    liveTaskId: id,
  });
  // The kept release of the runner that is gone needs a build.
  const back = await admin.expect<{ id: number }>(201, "POST", `/api/projects/${project}/rollback`, {
    taskId: first.id,
  });
  expect((await server.reach(back.id, "success")).stages[0]).toMatchObject({
    name: "build",
    state: "success",
  });
});

test("a move holds although a task that runs on the earlier runner succeeds afterwards", async () => {
  const { admin } = server;
  const gate = join(server.dataDir, "gate");
  const { id: from } = await addRunner(server.url, admin, "three");
  const project = await server.project(
    repository.url,
    { deploy: `echo deploying; while [ ! -e ${gate} ]; do sleep 0.05; done` },
    { labels: ["pool"] },
  );
  await admin.expect(200, "POST", `/api/projects/${project}/move`, { runnerId: from });
  const { id } = await server.run(project);
  await server.logged(id, "deploying");
  const { id: to } = await addRunner(server.url, admin, "four");
  await admin.expect(200, "POST", `/api/projects/${project}/move`, { runnerId: to });
  await Bun.write(gate, "");
  expect(await server.reach(id, "success")).toMatchObject({ runnerId: from });
  expect(await admin.expect<object>(200, "GET", `/api/projects/${project}`)).toMatchObject({
    homeRunnerId: to,
  });
});

test("a runner that does not call any more is named, and a rebuild elsewhere is offered", async () => {
  const clock = await makeSteppedClock();
  const dataDir = mkdtempSync(join(tmpdir(), "slipway-gone-"));
  const source = await makeRepository();
  await source.push({ "app.txt": "one\n" });
  const other = await startServerProcess(dataDir, { "runner-enabled": "false" }, [], clock.env);
  try {
    const { runner } = await addRunner(other.url, other.admin, "remote");
    const project = await other.project(source.url, { deploy: "true" }, { labels: ["pool"] });
    await other.reach((await other.run(project)).id, "success");
    running.splice(running.indexOf(runner), 1);
    await runner.stop();
    const { id } = await other.run(project);
    const reason =
      "waiting: it was deployed on the runner remote, which is not connected; start it, or move the project to another runner, which builds it again";
    // A last call of the runner may be handled after its end, so the time goes on until the server has noticed.
    let seconds = 0;
    await eventually("the task says so", async () => {
      seconds += 300;
      clock.set(seconds);
      return (await other.task(id)).waiting === reason;
    });
    expect((await other.task(id)).state).toBe("queued");
  } finally {
    await other.end("SIGKILL");
    source.remove();
    clock.remove();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
