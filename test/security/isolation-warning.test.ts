import { expect, test } from "bun:test";
import { banner } from "../../src/cli/banner.ts";
import { type IsolationLevel, isolationLevels } from "../../src/model/execution.ts";
import { runnerFeatures } from "../../src/runner/protocol.ts";
import { type ApiClient, type ApiServer, startApiServer } from "../support/api-server.ts";
import { registerRunner } from "../support/protocol-runner.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const dataDir = temporaryFolder("isolation");

/** Starts on the same data each time, runs `work` and returns what the start had printed before it. */
async function started(work: (server: ApiServer) => Promise<unknown> = async () => {}): Promise<string> {
  const server = await startApiServer({ "data.dir": dataDir }, undefined, "start");
  try {
    await work(server);
    return banner(server.app, await server.app.missing());
  } finally {
    await server.stop();
  }
}

const asked = { labels: [], concurrency: 1, version: "test", features: runnerFeatures };
const warning = /! Scripts are not isolated on north: /;

const strongest = isolationLevels.at(-1) as IsolationLevel;

const hello = async (server: ApiServer, token: string, isIsolated: boolean) => {
  const isolation = isIsolated ? strongest : "none";
  expect(
    await server.as(token).expect(200, "POST", "/api/runner/hello", { ...asked, isolation }),
  ).toBeDefined();
};

test("the start warns while scripts of users who are not admins run as the runner's user", async () => {
  let [runnerId, runnerToken, userId, projectId, groupId] = [0, "", 0, 0, 0];
  const member = (admin: ApiClient, permission: string) =>
    admin.expect(200, "PUT", `/api/projects/${projectId}/members/${userId}`, { permission });
  await started(async ({ admin, url, newUser }) => {
    const runner = await registerRunner(url, admin, { name: "north", trustedIsolation: strongest });
    [runnerId, runnerToken] = [runner.id, runner.token];
    userId = (await newUser("ann")).id;
    const git = { url: "https://git.example.com/shop.git" };
    projectId = (await admin.expect<{ id: number }>(201, "POST", "/api/projects", { name: "shop", git })).id;
    groupId = (await admin.expect<{ id: number }>(201, "POST", "/api/groups", { name: "shops" })).id;
    await member(admin, "view");
  });
  expect(await started(({ admin }) => member(admin, "manage"))).not.toMatch(warning);
  // It has never connected, so that nothing is known about it.
  expect(await started((server) => hello(server, runnerToken, false))).not.toMatch(warning);
  expect(await started((server) => hello(server, runnerToken, true))).toMatch(warning);
  expect(await started((server) => hello(server, runnerToken, false))).not.toMatch(warning);
  const change = (disabled: boolean) => (server: ApiServer) =>
    server.admin.expect(200, "PATCH", `/api/runners/${runnerId}`, { disabled });
  expect(await started(change(true))).toMatch(warning);
  expect(await started(change(false))).not.toMatch(warning);
  expect(
    await started(async ({ admin }) => {
      await admin.expect(204, "DELETE", `/api/projects/${projectId}/members/${userId}`);
      await admin.expect(200, "PUT", `/api/groups/${groupId}/members/${userId}`, { permission: "manage" });
    }),
  ).toMatch(warning);
  expect(
    await started(({ admin }) => admin.expect(200, "PATCH", `/api/users/${userId}`, { role: "admin" })),
  ).toMatch(warning);
  expect(await started()).not.toMatch(warning);
});
