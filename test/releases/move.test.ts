import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { startRunnerProcess } from "../support/runner-process.ts";

const { server, repository } = await setUpDeploy();
const running: ReturnType<typeof startRunnerProcess>[] = [];
afterAll(async () => {
  for (const runner of running) await runner.stop();
});

async function addRunner(name: string) {
  const { id, token } = await server.admin.expect<{ id: number; token: string }>(
    201,
    "POST",
    "/api/runners",
    {
      name,
      labels: ["pool"],
    },
  );
  const runner = startRunnerProcess(server.url, token, 1, { SLIPWAY_RUNNER_LABELS: "pool" });
  running.push(runner);
  return { id, runner };
}

test("a project waits for the runner with its releases with a reason, and builds on another one after a move", async () => {
  const { admin } = server;
  const file = join(server.scratch, "moved");
  const builds = `${file}-builds`;
  const one = await addRunner("one");
  const project = await server.project(
    repository.url,
    { build: `echo x >> ${builds}`, deploy: `echo x >> ${file}` },
    { labels: ["pool"] },
  );
  const first = await server.reach((await server.run(project)).id, "success");
  expect(first.runnerId).toBe(one.id);
  const two = await addRunner("two");
  await admin.expect(200, "PATCH", `/api/runners/${one.id}`, { disabled: true });
  const { id } = await server.run(project);
  expect((await server.task(id)).waiting).toBe(
    "waiting: it was deployed on the runner one, which is disabled; enable it, or move the project to another runner, which builds it again",
  );
  await admin.expect(204, "DELETE", `/api/runners/${one.id}`);
  expect((await server.task(id)).waiting).toContain(
    "it was deployed on a runner that was deleted; move the project to another runner",
  );
  expect((await server.task(id)).state).toBe("queued");
  await admin.expect(200, "POST", `/api/projects/${project}/move`, { runnerId: two.id });
  const moved = await server.reach(id, "success");
  expect(moved).toMatchObject({ runnerId: two.id });
  expect(await admin.expect(200, "GET", `/api/projects/${project}/releases`)).toMatchObject({
    homeRunner: { id: two.id, name: "two" },
  });
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
  const gate = join(server.scratch, "gate");
  const { id: from } = await addRunner("three");
  const project = await server.project(
    repository.url,
    { deploy: `echo deploying; while [ ! -e ${gate} ]; do sleep 0.05; done` },
    { labels: ["pool"] },
  );
  await admin.expect(200, "POST", `/api/projects/${project}/move`, { runnerId: from });
  const { id } = await server.run(project);
  await server.logged(id, "deploying");
  const { id: to } = await addRunner("four");
  await admin.expect(200, "POST", `/api/projects/${project}/move`, { runnerId: to });
  await Bun.write(gate, "");
  expect(await server.reach(id, "success")).toMatchObject({ runnerId: from });
  expect(await admin.expect<object>(200, "GET", `/api/projects/${project}`)).toMatchObject({
    homeRunnerId: to,
  });
});

test("a runner that is not connected is named, and a rebuild elsewhere is offered", async () => {
  const { admin } = server;
  const away = { name: "away", labels: ["pool"] };
  const { id: runnerId } = await admin.expect<{ id: number }>(201, "POST", "/api/runners", away);
  const project = await server.project(repository.url, { deploy: "true" }, { labels: ["pool"] });
  await admin.expect(200, "POST", `/api/projects/${project}/move`, { runnerId });
  const { id } = await server.run(project);
  expect(await server.task(id)).toMatchObject({
    state: "queued",
    waiting:
      "waiting: it was deployed on the runner away, which is not connected; start it, or move the project to another runner, which builds it again",
  });
});
