import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DeployServer, startDeployServer, textOf } from "../support/deploy-server.ts";

let server: DeployServer;

beforeAll(async () => {
  server = await startDeployServer({ "tasks.allowLocalRepositories": false });
}, 60_000);
afterAll(async () => {
  await server.stop();
  server.remove();
});

test("a sample project deploys from its own repository, and leaves without a trace", async () => {
  const made = await server.admin.expect<{ projectId: number; deliveryId: number; taskId: number }>(
    201,
    "POST",
    "/api/samples",
  );
  const task = await server.reach(made.taskId, "success");
  expect(task).toMatchObject({ triggerType: "webhook", triggeredBy: "sample", deliveryId: made.deliveryId });
  expect(textOf(await server.log(task.id))).toContain("<h1>Hello from version 2</h1>");
  const project = await server.admin.expect<{ sample: boolean; env: { SAMPLE_LIVE: string } }>(
    200,
    "GET",
    `/api/projects/${made.projectId}`,
  );
  expect(project.sample).toBe(true);
  expect(readFileSync(join(project.env.SAMPLE_LIVE, "index.html"), "utf8")).toContain("version 2");

  await server.admin.expect(204, "DELETE", `/api/projects/${made.projectId}`);
  expect(readdirSync(join(server.dataDir, "samples"))).toEqual([]);
  for (const kept of ["cache", "work"]) expect(readdirSync(join(server.dataDir, "runner", kept))).toEqual([]);
  expect(existsSync(project.env.SAMPLE_LIVE)).toBe(false);
  const deliveries = await server.admin.expect(200, "GET", "/api/webhooks/deliveries");
  expect(deliveries).toMatchObject({ items: [], total: 0 });
  expect((await server.admin.request("GET", `/api/tasks/${task.id}`)).status).toBe(404);
}, 60_000);

test("only a sample is deleted as one", async () => {
  const projectId = await server.project("https://git.example.com/shop.git", {});
  expect((await server.admin.request("DELETE", `/api/samples/${projectId}`)).status).toBe(409);
});
