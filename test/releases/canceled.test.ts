import { expect, test } from "bun:test";
import { answerOf } from "../support/release-scene.ts";
import { setUpReleases } from "../support/releases-setup.ts";

const { server, newPort, serviceProject, change, read, deploy } = await setUpReleases();

/** A project whose first deploy serves, and whose next builds do not end. */
async function servingProject(more: Record<string, unknown> = {}) {
  const port = newPort();
  const projectId = await serviceProject(port);
  const first = await deploy(projectId, "success");
  await change(projectId, { pipeline: { build: [{ script: "echo building; sleep 300" }] }, ...more });
  const build = async () => (await server.run(projectId)).id;
  const staysLive = async () => {
    expect(await read(projectId)).toMatchObject({ liveTaskId: first.task.id, liveNote: "" });
    expect((await answerOf(port)).commit).toBe(first.commit);
  };
  return { build, staysLive };
}

async function cancel(id: number): Promise<void> {
  await server.logged(id, "building");
  await server.admin.expect(200, "POST", `/api/tasks/${id}/cancel`);
  await server.reach(id, "canceled");
}

test("a task that is canceled during its build leaves the serving release live", async () => {
  const { build, staysLive } = await servingProject();
  await cancel(await build());
  await staysLive();
});

test("a task that is superseded during its build leaves the serving release live", async () => {
  const { build, staysLive } = await servingProject({ supersede: "running" });
  const older = await build();
  await server.logged(older, "building");
  const newer = await build();
  expect(await server.reach(older, "canceled")).toMatchObject({ supersededBy: newer });
  await staysLive();
  await cancel(newer);
  await staysLive();
});
