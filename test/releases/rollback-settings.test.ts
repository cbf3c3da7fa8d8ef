import { expect, test } from "bun:test";
import { textOf } from "../support/deploy-server.ts";
import { answerOf } from "../support/release-scene.ts";
import { httpCheck, setUpReleases } from "../support/releases-setup.ts";

const { server, newPort, serviceProject, rollback, deploy } = await setUpReleases();

test("a rollback says which settings return with the release, before and in its log", async () => {
  const [old, current] = [newPort(), newPort()];
  const projectId = await serviceProject(old);
  const first = await deploy(projectId, "success");
  await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
    env: { LISTEN: String(current), COLOR: "red" },
    stages: { start: { healthCheck: httpCheck(current) } },
  });
  await deploy(projectId, "success");
  const path = `/api/projects/${projectId}/releases/${first.task.id}/settings`;
  expect(await server.admin.expect(200, "GET", path)).toEqual({
    items: [
      { setting: "env.LISTEN", release: String(old), project: String(current) },
      {
        setting: "stages.start.healthCheck",
        release: `http://127.0.0.1:${old}/ (10 s)`,
        project: `http://127.0.0.1:${current}/ (10 s)`,
      },
      { setting: "env.COLOR", release: null, project: "red" },
    ],
  });
  const { id } = await rollback(projectId);
  await server.reach(id, "success");
  expect((await answerOf(old)).commit).toBe(first.commit);
  const used = (others: string) =>
    `variables, scripts and checks of task ${first.task.id} (now the project has other ${others}), current secrets`;
  expect(textOf(await server.log(id))).toContain(used("LISTEN, start.healthCheck, COLOR"));
  // An automatic one says it too.
  await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
    stages: { start: { script: "exit 1" } },
  });
  const failed = await deploy(projectId, "failed");
  expect(failed.task.reason).toContain("is serving again");
  expect(textOf(await server.log(failed.task.id))).toContain(
    `[${used("LISTEN, start.script, start.healthCheck, COLOR")}]`,
  );
  const other = await serviceProject(newPort());
  const elsewhere = `/api/projects/${other}/releases/${first.task.id}/settings`;
  expect(await server.admin.expect<{ items: unknown[] }>(200, "GET", elsewhere)).toEqual({ items: [] });
}, 40_000);
