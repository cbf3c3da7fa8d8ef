import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type DeployServer, startDeployServer, textOf } from "../support/deploy-server.ts";

let server: DeployServer;

beforeAll(async () => {
  server = await startDeployServer({ "tasks.allowLocalRepositories": false });
});
afterAll(async () => {
  await server.stop();
  server.remove();
});

test("a sample project deploys from its own repository, and its deletion removes everything", async () => {
  const made = await server.admin.expect<{ projectId: number; deliveryId: number; taskId: number }>(
    201,
    "POST",
    "/api/samples",
  );
  const task = await server.reach(made.taskId, "success");
  expect(task).toMatchObject({ triggerType: "webhook", triggeredBy: "sample", deliveryId: made.deliveryId });
  expect(textOf(await server.log(task.id))).toContain("<h1>Hello from version 2</h1>");
  const project = await server.admin.expect<{
    sample: boolean;
    warnings: string[];
  }>(200, "GET", `/api/projects/${made.projectId}`);
  expect(project.sample).toBe(true);
  // Its repository is on this machine, which reaches the webhook without a public address.
  expect(project.warnings).toEqual([]);
  const live = join(server.runnerDir, "data", String(made.projectId), "live/index.html");
  expect(readFileSync(live, "utf8")).toContain("version 2");

  await server.admin.expect(204, "DELETE", `/api/projects/${made.projectId}`);
  expect(readdirSync(join(server.dataDir, "samples"))).toEqual([]);
  for (const kept of ["cache", "releases", "data"])
    expect(readdirSync(join(server.runnerDir, kept))).toEqual([]);
  const deliveries = await server.admin.expect(200, "GET", "/api/webhooks/deliveries");
  expect(deliveries).toMatchObject({ items: [], total: 0 });
  expect((await server.admin.request("GET", `/api/tasks/${task.id}`)).status).toBe(404);
});

test("a broken push to a sample fails its health check, and the release before it comes back", async () => {
  const made = await server.admin.expect<{ projectId: number; taskId: number }>(201, "POST", "/api/samples");
  await server.reach(made.taskId, "success");
  const path = `/api/projects/${made.projectId}`;
  const pushed = await server.admin.expect<{ deliveryId: number; taskId: number }>(
    201,
    "POST",
    `/api/samples/${made.projectId}/push`,
  );
  const task = await server.reach(pushed.taskId, "failed");
  expect(task).toMatchObject({
    message: "Forget the heading of version 3",
    deliveryId: pushed.deliveryId,
    rollback: { taskId: made.taskId, state: "success" },
  });
  expect(textOf(await server.log(task.id))).toContain("the page has no heading");
  const project = await server.admin.expect<{ liveTaskId: number; env: { SAMPLE_LIVE: string } }>(
    200,
    "GET",
    path,
  );
  expect(project.liveTaskId).toBe(made.taskId);
  const live = join(server.runnerDir, "data", String(made.projectId), "live/index.html");
  expect(readFileSync(live, "utf8")).toContain("version 2");
  const fixed = await server.admin.expect<{ taskId: number }>(
    201,
    "POST",
    `/api/samples/${made.projectId}/push`,
    { broken: false },
  );
  expect(await server.reach(fixed.taskId, "success", "failed")).toMatchObject({
    message: "Say hello from version 4",
    state: "success",
  });
  await server.admin.expect(200, "PUT", `${path}/webhook`, { clearSecret: true });
  const refused = await server.admin.request("POST", `/api/samples/${made.projectId}/push`);
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("no secret")]);
  await server.admin.expect(204, "DELETE", path);
});

test("only a sample is deleted as one", async () => {
  const projectId = await server.project("https://git.example.com/shop.git", {});
  expect((await server.admin.request("DELETE", `/api/samples/${projectId}`)).status).toBe(409);
  expect((await server.admin.request("POST", `/api/samples/${projectId}/push`)).status).toBe(409);
});

test("the address of a sample cannot be changed, so that nothing else is deleted with it", async () => {
  const { projectId } = await server.admin.expect<{ projectId: number }>(201, "POST", "/api/samples");
  const path = `/api/projects/${projectId}`;
  const { git } = await server.admin.expect<{ git: { url: string } }>(200, "GET", path);
  for (const url of ["git@git.example.com:x.git", join(server.dataDir, "samples/x.git")]) {
    const refused = await server.admin.request("PATCH", path, { git: { url } });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain("cannot be changed in a sample project");
  }
  await server.admin.expect(200, "PATCH", path, { name: "Renamed", git: { url: git.url, ref: "main" } });
  await server.admin.expect(204, "DELETE", path);
  expect(existsSync(git.url)).toBe(false);
  expect(existsSync(join(server.dataDir, "slipway.db"))).toBe(true);
});

test("deleting a sample whose folder was replaced by a link deletes only the link", async () => {
  const { projectId } = await server.admin.expect<{ projectId: number }>(201, "POST", "/api/samples");
  const { git } = await server.admin.expect<{ git: { url: string } }>(
    200,
    "GET",
    `/api/projects/${projectId}`,
  );
  const foreign = join(server.dataDir, "foreign");
  mkdirSync(foreign);
  writeFileSync(join(foreign, "kept"), "");
  rmSync(dirname(git.url), { recursive: true });
  symlinkSync(foreign, dirname(git.url));
  await server.admin.expect(204, "DELETE", `/api/projects/${projectId}`);
  expect(existsSync(dirname(git.url))).toBe(false);
  expect(readdirSync(foreign)).toEqual(["kept"]);
});
