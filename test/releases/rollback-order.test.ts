import { expect, test } from "bun:test";
import type { ReleaseAnswer } from "../support/release-scene.ts";
import { setUpReleases } from "../support/releases-setup.ts";

const { server, gitUrl, rollback, deploy } = await setUpReleases();

const newProject = () => server.project(gitUrl, { deploy: "true" }, { env: { COLOR: "red" } });
const releasesOf = async (projectId: number) =>
  (await server.admin.expect<{ items: ReleaseAnswer[] }>(200, "GET", `/api/projects/${projectId}/releases`))
    .items;
const back = async (projectId: number, body = {}) =>
  (await server.reach((await rollback(projectId, body)).id, "success")).commit;
const rerun = async (taskId: number) => {
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", `/api/tasks/${taskId}/rerun`);
  return server.reach(id, "success");
};

async function three(projectId: number) {
  const [a, b, c] = [
    await deploy(projectId, "success", "a"),
    await deploy(projectId, "success", "b"),
    await deploy(projectId, "success", "c"),
  ];
  return { a, b, c };
}

test("each rollback goes one release further back, and the first release has none before it", async () => {
  const projectId = await newProject();
  const { a, b, c } = await three(projectId);
  expect(await back(projectId)).toBe(b.commit);
  expect(await releasesOf(projectId)).toMatchObject([
    { taskId: c.task.id, isLive: false, isNext: false },
    { taskId: b.task.id, isLive: true, isNext: false },
    { taskId: a.task.id, isLive: false, isNext: true },
  ]);
  expect(await back(projectId)).toBe(a.commit);
  const refused = await server.admin.request("POST", `/api/projects/${projectId}/rollback`, {});
  expect(refused.status).toBe(409);
  expect(String(refused.text)).toContain("has no earlier release to return to");
}, 60_000);

test("a named rollback changes no order: the next one goes to the release before the named one", async () => {
  const projectId = await newProject();
  const { a, b, c } = await three(projectId);
  expect(await back(projectId, { taskId: a.task.id })).toBe(a.commit);
  expect(await back(projectId, { taskId: c.task.id })).toBe(c.commit);
  expect(await back(projectId)).toBe(b.commit);
}, 60_000);

test("a release that was built again for a rollback has the place of the one that it replaces", async () => {
  const projectId = await newProject();
  const { a, b } = await three(projectId);
  const d = await deploy(projectId, "success", "d");
  expect((await releasesOf(projectId)).map(({ isKept }) => isKept)).toEqual([true, true, true, false]);
  expect(await back(projectId, { taskId: a.task.id })).toBe(a.commit);
  expect(await back(projectId, { taskId: d.task.id })).toBe(d.commit);
  expect(await back(projectId, { taskId: b.task.id })).toBe(b.commit);
  expect(await back(projectId)).toBe(a.commit);
}, 60_000);

test("a deploy after a rollback is rolled back to what it replaced, not to the release that was left before", async () => {
  const projectId = await newProject();
  const { a, b } = await three(projectId);
  expect(await back(projectId)).toBe(b.commit);
  await deploy(projectId, "success", "d");
  expect(await back(projectId)).toBe(b.commit);
  expect(await back(projectId)).toBe(a.commit);
}, 60_000);

test("a second release of the same commit and settings is not returned to", async () => {
  const projectId = await newProject();
  const { b, c } = await three(projectId);
  await rerun(c.task.id);
  await rerun(c.task.id);
  expect(await back(projectId)).toBe(b.commit);
}, 60_000);

test("the same commit with other settings is another release", async () => {
  const projectId = await newProject();
  const { c } = await three(projectId);
  await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { env: { COLOR: "blue" } });
  await rerun(c.task.id);
  const { id } = await rollback(projectId);
  expect(await server.reach(id, "success")).toMatchObject({ commit: c.commit, rollbackTo: c.task.id });
}, 60_000);
