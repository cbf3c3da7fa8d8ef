import { expect, test } from "bun:test";
import { answer, guardedProject } from "../support/approval-scene.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";

const { server, repository } = await setUpDeploy();
const { admin } = server;

interface Changes {
  serving: { taskId: number; commit: string } | null;
  goesBack: boolean;
  commits: { taskId: number; commit: string; message: string }[];
  settings: { setting: string; serving: string | null; task: string | null }[];
  compare: string | null;
}

const changesOf = (id: number) => admin.expect<Changes>(200, "GET", `/api/tasks/${id}/changes`);

test("a request for approval shows the commits and settings that differ from what serves, as they were pinned", async () => {
  const place = { url: repository.url, dataDir: server.dataDir };
  const first = await repository.push({ "app.txt": "1\n" }, { message: "first" });
  const { id } = await guardedProject(server, place);
  const waiting = async () => server.reach((await server.run(id)).id, "waiting");
  const one = await waiting();
  expect(await changesOf(one.id)).toMatchObject({
    serving: null,
    commits: [{ taskId: one.id, commit: first, message: "first" }],
    settings: [],
    compare: null,
  });
  await answer(admin, one.id, "approve");
  await server.reach(one.id, "success");
  await admin.expect(200, "PATCH", `/api/projects/${id}`, { env: { COLOR: "blue" } });
  const second = await repository.push({ "app.txt": "2\n" }, { message: "second" });
  const two = await waiting();
  await waiting();
  const third = await repository.push({ "app.txt": "3\n" }, { message: "third" });
  const three = await waiting();
  await admin.expect(200, "PATCH", `/api/projects/${id}`, { env: { COLOR: "green" } });
  const changes = await changesOf(three.id);
  expect(changes.serving).toMatchObject({ taskId: one.id, commit: first });
  expect(changes.commits.map(({ commit, message }) => [commit, message])).toEqual([
    [third, "third"],
    [second, "second"],
  ]);
  expect(changes.settings).toEqual([{ setting: "env.COLOR", serving: "red", task: "blue" }]);
  expect((await changesOf(two.id)).commits.map(({ commit }) => commit)).toEqual([second]);
  expect(Object.keys(changes.serving ?? {})).not.toContain("env");
});

test("a commit that was pushed before the one that serves is a way back, and no news for a later push", async () => {
  const place = { url: repository.url, dataDir: server.dataDir };
  const old = await repository.push({ "app.txt": "old\n" }, { message: "old" });
  const { id } = await guardedProject(server, place);
  const deployed = async () => {
    const task = await server.reach((await server.run(id)).id, "waiting");
    await answer(admin, task.id, "approve");
    return server.reach(task.id, "success");
  };
  const first = await deployed();
  const serving = await repository.push({ "app.txt": "new\n" }, { message: "new" });
  const again = await deployed();
  const rerun = await admin.expect<{ id: number }>(201, "POST", `/api/tasks/${first.id}/rerun`);
  await server.reach(rerun.id, "waiting");
  expect(await changesOf(rerun.id)).toMatchObject({
    serving: { taskId: again.id, commit: serving },
    goesBack: true,
    commits: [{ taskId: rerun.id, commit: old }],
  });
  const newest = await repository.push({ "app.txt": "newest\n" }, { message: "newest" });
  const next = await server.reach((await server.run(id)).id, "waiting");
  expect(await changesOf(next.id)).toMatchObject({ goesBack: false });
  expect((await changesOf(next.id)).commits.map(({ commit }) => commit)).toEqual([newest]);
  const back = await admin.expect<{ id: number }>(201, "POST", `/api/projects/${id}/rollback`, {
    taskId: first.id,
  });
  await server.reach(back.id, "waiting");
  expect(await changesOf(back.id)).toMatchObject({ goesBack: true, commits: [{ commit: old }] });
});

test("lists and single tasks say which task serves", async () => {
  const id = await server.project(repository.url, { deploy: "true" });
  const first = await server.reach((await server.run(id)).id, "success");
  const second = await server.reach((await server.run(id)).id, "success");
  const { items } = await admin.expect<{
    items: { id: number; isServing: boolean; serves: string | null }[];
  }>(200, "GET", `/api/tasks?projectId=${id}`);
  expect(items.map((task) => [task.id, task.isServing, task.serves])).toEqual([
    [second.id, true, "unchecked"],
    [first.id, false, null],
  ]);
  expect(await admin.expect(200, "GET", `/api/tasks/${second.id}`)).toMatchObject({ isServing: true });
  expect(await admin.expect(200, "GET", `/api/tasks/${first.id}`)).toMatchObject({ isServing: false });
});
