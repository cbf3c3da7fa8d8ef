import { expect, test } from "bun:test";
import { textOf } from "../support/deploy-server.ts";
import { answerOf } from "../support/release-scene.ts";
import { setUpReleases, webOn } from "../support/releases-setup.ts";

const { server, gitUrl, newPort, serviceProject, change, changeWeb, rollback, deploy } =
  await setUpReleases();

test("a rollback says which settings return with the release, before and in its log", async () => {
  const [old, current] = [newPort(), newPort()];
  const projectId = await serviceProject(old);
  const first = await deploy(projectId, "success");
  await change(projectId, { env: { LISTEN: String(current), COLOR: "red" } });
  await changeWeb(projectId, webOn(current));
  await deploy(projectId, "success");
  const path = `/api/projects/${projectId}/releases/${first.task.id}/settings`;
  const { items, release } = await server.admin.expect<{ items: unknown[]; release: { commit: string } }>(
    200,
    "GET",
    path,
  );
  expect(items).toEqual([
    { setting: "env.LISTEN", release: String(old), project: String(current) },
    { setting: "services.web.port", release: String(old), project: String(current) },
    { setting: "env.COLOR", release: null, project: "red" },
  ]);
  expect(release.commit).toBe(first.commit);
  const { id } = await rollback(projectId);
  await server.reach(id, "success");
  expect((await answerOf(old)).commit).toBe(first.commit);
  const used = (others: string) =>
    `variables, scripts and checks of task ${first.task.id} (now the project has other ${others}), current secrets`;
  expect(textOf(await server.log(id))).toContain(used("LISTEN, services.web.port, COLOR"));
  const other = await serviceProject(newPort());
  const elsewhere = `/api/projects/${other}/releases/${first.task.id}/settings`;
  const foreign = { compare: null, items: [], release: null, takenBack: [] };
  expect(await server.admin.expect<object>(200, "GET", elsewhere)).toEqual(foreign);
}, 40_000);

test("a rollback that begins by itself says it too", async () => {
  const projectId = await server.project(gitUrl, { deploy: "true" }, { env: { COLOR: "red" } });
  const first = await deploy(projectId, "success");
  await change(projectId, { pipeline: { deploy: [{ script: "exit 1" }] }, env: { COLOR: "blue" } });
  const failed = await deploy(projectId, "failed");
  expect(failed.task.reason).toContain(`${first.short} was put back`);
  expect(textOf(await server.log(failed.task.id))).toContain(
    `[variables, scripts and checks of task ${first.task.id} (now the project has other COLOR, deploy.script), current secrets]`,
  );
});
