import { afterAll, describe, expect, test } from "bun:test";
import { setUpServerProcess } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { receiveNotifications } from "../support/notification-receiver.ts";
import { isAlive, watchProcesses } from "../support/process-watch.ts";

/** Short, so that a silent runner is noticed within the time of a test. */
const settings = { "tasks-lease": "5s" };
const notifications = receiveNotifications();
const { server, repository } = await setUpServerProcess(settings);
afterAll(() => notifications.stop());

const notify = [{ url: notifications.url }];

async function killRunner(): Promise<void> {
  const pid = server.runnerPid();
  process.kill(pid, "SIGKILL");
  await eventually("another runner is started", () => server.runnerPid() !== pid);
}

describe("kill -9 of the runner", () => {
  test("during build: the task runs once more and succeeds; nothing of the first attempt survives", async () => {
    const watch = watchProcesses();
    const projectId = await server.project(
      repository.url,
      {
        build: `echo $$ >>${watch.file}; echo "attempt $CI_ATTEMPT"; [ "$CI_ATTEMPT" = 2 ] || sleep 300`,
        deploy: "echo deployed",
      },
      { notify },
    );
    const { id } = await server.run(projectId);
    await server.logged(id, "attempt 1");
    const [first] = await watch.all(1);
    await killRunner();
    const task = await server.reach(id, "success");
    expect(task.attempt).toBe(2);
    expect(isAlive(first ?? 0)).toBe(false);
    const lines = await server.log(id);
    expect(lines.map((line) => line.index)).toEqual(lines.map((_, index) => index));
    expect(lines.filter((line) => line.text === "deployed")).toHaveLength(1);
    expect(lines.some((line) => line.text.includes("queued once more"))).toBe(true);
    await notifications.event(id, "task.succeeded");
    expect(notifications.eventsOf(id)).toEqual([
      "task.queued",
      "task.started",
      "task.queued",
      "task.started",
      "task.succeeded",
    ]);
  });

  test("during deploy: the task is lost, reported, and not run again", async () => {
    const watch = watchProcesses();
    const deploy = `echo $$ >>${watch.file}; echo deploying; sleep 300`;
    const projectId = await server.project(repository.url, { build: "true", deploy }, { notify });
    const { id } = await server.run(projectId);
    await server.logged(id, "deploying");
    await watch.all(1);
    await killRunner();
    const task = await server.reach(id, "lost");
    expect(task.reason).toContain("vanished during deploy");
    expect(task.stages.map(({ state }) => state)).toEqual(["success", "lost", "skipped"]);
    await notifications.event(id, "task.lost");
    expect(watch.alive()).toEqual([]);
    expect((await server.task(id)).attempt).toBe(1);
    expect(await watch.all(1)).toHaveLength(1);
  });

  test("during the start of a service: the next runner ends the service", async () => {
    const watch = watchProcesses();
    const web = { command: `echo $$ >>${watch.file}; exec sleep 300`, check: { command: "false" } };
    const projectId = await server.project(repository.url, {}, { pipeline: { start: { web } } });
    const { id } = await server.run(projectId);
    await watch.all(1);
    await killRunner();
    await eventually("nothing of it is alive", () => watch.alive().length === 0);
    await server.reach(id, "lost");
  });
});
