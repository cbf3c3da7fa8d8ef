import { afterAll, expect, test } from "bun:test";
import { answer, guardedProject } from "../support/approval-scene.ts";
import { makeRepository } from "../support/git-repository.ts";
import { signalIfAlive } from "../support/process-watch.ts";
import { startServerProcess } from "../support/server-process.ts";
import { makeSteppedClock } from "../support/stepped-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const clock = await makeSteppedClock();
const dataDir = temporaryFolder("expiry");
const repository = await makeRepository();
await repository.push({ "app.txt": "one\n" });
const server = await startServerProcess(dataDir, {}, [], clock.env);
afterAll(async () => {
  await server.end("SIGKILL");
  signalIfAlive(server.runnerPid(), "SIGKILL");
});

test("a request that nobody answers in time cannot be approved any more, and is canceled", async () => {
  const { id, deployed } = await guardedProject(
    server,
    { url: repository.url, dataDir },
    { expiresAfterMinutes: 60 },
  );
  const task = await server.reach((await server.run(id)).id, "waiting");
  // A longer time in the project's settings does not extend the request.
  await server.admin.expect(200, "PATCH", `/api/projects/${id}`, { deploy: { expiresAfterMinutes: 9000 } });
  clock.set(59 * 60);
  await server.admin.expect(200, "GET", `/api/tasks/${task.id}`);
  expect((await server.task(task.id)).state).toBe("waiting");
  clock.set(61 * 60);
  await answer(server.admin, task.id, "approve", 409);
  expect(await server.reach(task.id, "canceled")).toMatchObject({
    reason: "nobody approved it in time",
    approval: { state: "expired", by: null },
  });
  expect(deployed()).toEqual([]);
});
