import { afterAll, expect, test } from "bun:test";
import { startDeployServer } from "../support/deploy-server.ts";

const server = await startDeployServer({ "metrics.token": "a token that is never shown" });
afterAll(async () => {
  await server.stop();
  server.remove();
});

test("the system names version, database, disk and settings, without secrets", async () => {
  const system = await server.admin.expect<{ settings: { key: string; value: string }[] }>(
    200,
    "GET",
    "/api/system",
  );
  expect(system).toMatchObject({
    version: expect.any(String),
    queue: { queued: 0, running: 0, waiting: 0 },
    broker: null,
  });
  expect(system.settings.find(({ key }) => key === "metrics.token")?.value).toBe('"********"');
  expect(JSON.stringify(system)).not.toContain("a token that is never shown");
});
