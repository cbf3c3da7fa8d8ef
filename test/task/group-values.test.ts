import { describe, expect, test } from "bun:test";
import { answer, guardedProject, memberOf } from "../support/approval-scene.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";

const { server, repository, commit } = await setUpDeploy();
const { admin } = server;
const place = { url: repository.url, dataDir: server.dataDir };

let groups = 0;
async function newGroup(env: Record<string, string> = {}): Promise<{ id: number; path: string }> {
  const body = { name: `web ${++groups}`, env };
  const { id } = await admin.expect<{ id: number }>(201, "POST", "/api/groups", body);
  return { id, path: `/api/groups/${id}` };
}
const put = (path: string, name: string, value: string, scope = "all") =>
  admin.expect(204, "PUT", `${path}/secrets/${name}`, { value, scope });
const waiting = async (projectId: number) => server.reach((await server.run(projectId)).id, "waiting");

test("scripts get the variables and secrets of the group, and its secrets are masked in the log", async () => {
  const group = await newGroup({ REGION: "north", COLOR: "red" });
  await put(group.path, "TOKEN", "t-of-the-group");
  await put(group.path, "DEPLOY_KEY", "k-of-the-group", "deploy");
  const script =
    'echo "$CI_STAGE $REGION $COLOR $TOKEN $(echo "$TOKEN" | cut -c2-) $(echo "$DEPLOY_KEY" | cut -c2-)"';
  const id = await server.project(
    repository.url,
    { build: script, deploy: script },
    { groupId: group.id, env: { COLOR: "blue" } },
  );
  const task = await server.reach((await server.run(id)).id, "success");
  const lines = (await server.log(task.id)).map(({ text }) => text);
  expect(lines).toContain("build north blue *** -of-the-group ");
  expect(lines).toContain("deploy north blue *** -of-the-group -of-the-group");
  // What the group has now is what would return with the release.
  await admin.expect(200, "PATCH", group.path, { env: { REGION: "south", COLOR: "red" } });
  const path = `/api/projects/${id}/releases/${task.id}/settings`;
  expect((await admin.expect<{ items: object[] }>(200, "GET", path)).items).toEqual([
    { setting: "env.REGION", release: "north", project: "south" },
  ]);
});

describe("an approval", () => {
  test("pins the variables of the group; a new value of a secret needs none", async () => {
    const group = await newGroup({ COLOR: "red" });
    await put(group.path, "TOKEN", "first-token");
    const { id, file, deployed } = await guardedProject(server, place, {}, { groupId: group.id, env: {} });
    await admin.expect(200, "PATCH", `/api/projects/${id}`, {
      stages: { deploy: { script: `echo "$COLOR $TOKEN" >> ${file}` } },
    });
    const task = await waiting(id);
    await admin.expect(200, "PATCH", group.path, { env: { COLOR: "black" } });
    await put(group.path, "TOKEN", "second-token");
    // A variable of the project that came later hides nothing that was approved.
    await admin.expect(200, "PATCH", `/api/projects/${id}`, { env: { TOKEN: "late", COLOR: "late" } });
    await answer(admin, task.id, "approve");
    await server.reach(task.id, "success");
    expect(deployed()).toEqual(["red second-token"]);
  });

  test("is requested again when a secret was added to the group", async () => {
    const group = await newGroup({ COLOR: "red" });
    const { id, deployed } = await guardedProject(server, place, {}, { groupId: group.id, env: {} });
    const task = await waiting(id);
    await put(group.path, "COLOR", "black-and-secret");
    const refused = await answer(admin, task.id, "approve", 409);
    expect(JSON.stringify(refused)).toContain("replace variables of the same name");
    expect((await server.task(task.id)).reason).toContain("COLOR");
    await answer(admin, task.id, "approve");
    await server.reach(task.id, "success");
    expect(deployed()).toEqual([`${commit} black-and-secret 1`]);
  });

  test("is not given by the person who changed the group, with notByPusher", async () => {
    const group = await newGroup({ REGION: "north" });
    const { id } = await guardedProject(server, place, { notByPusher: true }, { groupId: group.id });
    const bo = await memberOf(server, id, `bo-${id}`);
    const cy = await memberOf(server, id, `cy-${id}`);
    for (const { id: user } of [bo, cy])
      await admin.expect(200, "PUT", `${group.path}/members/${user}`, { permission: "manage" });
    const startedBy = async (as: typeof bo) => {
      const { id: taskId } = await as.expect<{ id: number }>(201, "POST", `/api/projects/${id}/tasks`, {});
      await server.reach(taskId, "waiting");
      return taskId;
    };
    const first = await startedBy(bo);
    await answer(cy, first, "approve");
    await server.reach(first, "success");
    await cy.expect(200, "PATCH", group.path, { env: { REGION: "south" } });
    await cy.expect(204, "PUT", `${group.path}/secrets/TOKEN`, { value: "of-cy", scope: "deploy" });
    const second = await startedBy(bo);
    const refused = JSON.stringify(await answer(cy, second, "approve", 403));
    expect(refused).toContain("group.env, group.secrets.TOKEN");
    await answer(admin, second, "approve");
    await server.reach(second, "success");
    // Once that is approved and serves, it counts no more. Variables that were changed after a request are not deployed.
    const third = await startedBy(bo);
    await cy.expect(200, "PATCH", group.path, { env: { REGION: "east" } });
    await answer(cy, third, "approve");
    await server.reach(third, "success");
  });

  test("is not given by the person who deleted the group", async () => {
    const group = await newGroup({ REGION: "north" });
    const { id } = await guardedProject(server, place, { notByPusher: true }, { groupId: group.id });
    const bo = await memberOf(server, id, `bo-${id}`);
    const cy = await memberOf(server, id, `cy-${id}`);
    const first = (await bo.expect<{ id: number }>(201, "POST", `/api/projects/${id}/tasks`, {})).id;
    await server.reach(first, "waiting");
    await answer(cy, first, "approve");
    await server.reach(first, "success");
    await admin.expect(204, "DELETE", group.path);
    const second = (await bo.expect<{ id: number }>(201, "POST", `/api/projects/${id}/tasks`, {})).id;
    await server.reach(second, "waiting");
    expect(JSON.stringify(await answer(admin, second, "approve", 403))).toContain("groupId");
    await answer(cy, second, "approve");
    await server.reach(second, "success");
  });
});
