import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { availableDatabases } from "../support/databases.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { deliverTo, makeHook, tasksOf } from "../support/hook.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { makeSteppedClock, type SteppedClock } from "../support/stepped-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const hour = 3_600;
const push = { payload: { event: "push", ref: "refs/heads/main" } };

let clock: SteppedClock;
let repository: GitRepository;
let dataDir: string;
let server: ServerProcess;

beforeEach(async () => {
  clock = await makeSteppedClock();
  repository = await makeRepository();
  await repository.push({ "README.md": "shop" });
  dataDir = temporaryFolder("clock-data");
}, 300_000);

afterEach(async () => {
  // In order, so that its local runner ends too.
  await server.end("SIGTERM");
});

async function start(settings: Record<string, string> = {}, env: Record<string, string> = {}): Promise<void> {
  server = await startServerProcess(dataDir, settings, [], { ...clock.env, ...env });
}

/** Real time between the steps of the clock: the timers of the server run meanwhile. */
const timePasses = (ms: number) => Bun.sleep(ms);

const hook = (debounceSeconds: number, script = "true") =>
  makeHook(
    server,
    { debounceSeconds },
    { git: { url: repository.url, ref: "main" }, stages: { build: { script } } },
  );

describe("the clock of a server on SQLite is set", () => {
  test("forward and back: the task of a window starts when the window has passed, and so does the next one", async () => {
    await start();
    const { deliver, projectId } = await hook(6);
    clock.set(hour);
    await timePasses(1_500);
    const first = await deliver(push);
    expect(first.body.code).toBe("accepted");
    clock.set(0);
    await timePasses(500);
    const merged = await deliver(push);
    expect([merged.body.code, merged.body.mergedIntoTaskId]).toEqual(["debounced", first.body.taskId]);
    await server.reach(Number(first.body.taskId), "success");
    const next = await deliver(push);
    expect(next.body.code).toBe("accepted");
    await server.reach(Number(next.body.taskId), "success");
    expect(await tasksOf(server.admin, projectId)).toHaveLength(2);
  });

  test.each([
    ["forward", hour],
    ["back", -hour],
  ])("%s inside a debounce window: the window lasts as long as it should", async (_name, seconds) => {
    await start();
    const { deliver, projectId } = await hook(8);
    const startedAt = performance.now();
    const first = await deliver(push);
    clock.set(seconds);
    await timePasses(1_500);
    expect((await deliver(push)).body.code).toBe("debounced");
    expect((await server.task(Number(first.body.taskId))).state).toBe("queued");
    await server.reach(Number(first.body.taskId), "success");
    expect(performance.now() - startedAt).toBeGreaterThan(7_900);
    expect(await tasksOf(server.admin, projectId)).toHaveLength(1);
  });

  test("while deliveries are being decided: each of them opens one window", async () => {
    await start({ "runner-enabled": "false" });
    const urls = await Promise.all(Array.from({ length: 40 }, async () => (await hook(600)).url()));
    for (const seconds of [hour, 0, hour, 0]) {
      const firsts = urls.map(async (url, at) => {
        // One after the other, so that the clock is set between two of them.
        await timePasses(at);
        return deliverTo(url, push);
      });
      // About in the middle.
      await timePasses(20);
      clock.set(seconds);
      const taskIds = (await Promise.all(firsts)).map(({ body }) => body.taskId ?? body.mergedIntoTaskId);
      await timePasses(500);
      const repeats = await Promise.all(urls.map((url) => deliverTo(url, push)));
      expect(repeats.map(({ body }) => body.mergedIntoTaskId)).toEqual(taskIds);
    }
  });

  test.each([
    ["forward", 2 * hour],
    ["back", -2 * hour],
  ])("%s during a build: the build is neither lost nor out of time", async (_name, seconds) => {
    await start({ "tasks-lease": "15s" });
    const { projectId } = await hook(0, "echo begun; sleep 6; echo built");
    const { id } = await server.run(projectId);
    await server.logged(id, "begun");
    clock.set(seconds);
    await timePasses(500);
    const runners = await server.admin.expect<{ items: { online: boolean }[] }>(200, "GET", "/api/runners");
    expect(runners.items.map(({ online }) => online)).toEqual([true]);
    expect((await server.reach(id)).state).toBe("success");
    const text = (await server.log(id)).map((line) => line.text).join("\n");
    expect(text).not.toContain("vanished");
  });

  test("back during a build whose runner dies: the task is ended after its lease, not an hour later", async () => {
    await start({ "tasks-lease": "5s", "runner-enabled": "true" });
    const { projectId } = await hook(0, "echo begun; sleep 600");
    clock.set(hour);
    await timePasses(1_500);
    const { id } = await server.run(projectId);
    await server.logged(id, "begun");
    clock.set(0);
    process.kill(server.runnerPid(), "SIGKILL");
    await server.logged(id, "The runner vanished before deploy began; the task was queued once more.");
  });

  test("back between two starts: a task from the future starts, and takes no more deliveries", async () => {
    clock.set(hour);
    await start({ "runner-enabled": "false" });
    const { deliver } = await hook(20);
    const first = await deliver(push);
    expect(first.body.code).toBe("accepted");
    await server.end("SIGKILL");
    clock.set(0);
    await start();
    await server.reach(Number(first.body.taskId), "success");
    const address = await server.admin.expect<{ items: { id: number }[] }>(200, "GET", "/api/projects");
    const { url } = await server.admin.expect<{ url: string }>(
      200,
      "GET",
      `/api/projects/${address.items[0]?.id}/webhook`,
    );
    const answers = [];
    for (let each = 0; each < 2; each++) {
      const response = await fetch(new URL(new URL(url).pathname, server.url), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(push.payload),
      });
      answers.push(((await response.json()) as { code: string }).code);
    }
    expect(answers).toEqual(["accepted", "debounced"]);
  });

  test("back after a limit was reached: it ends when its minute is over, not an hour later", async () => {
    await start({ "webhook-limit-per-minute": "2" });
    const { deliver } = await hook(0);
    clock.set(hour);
    await timePasses(1_100);
    for (let taken = 0; taken < 2; taken++) expect((await deliver(push)).status).toBe(202);
    clock.set(0);
    const refused = await deliver(push);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(60);
  });

  test("back after too many failed sign-ins: the wait does not change", async () => {
    await start();
    clock.set(hour);
    const signIn = (password: string) =>
      server.admin.request("POST", "/api/auth/login", { username: "nobody", password });
    for (let failure = 0; failure < 25; failure++) await signIn("wrong");
    expect((await signIn("wrong")).status).toBe(429);
    clock.set(0);
    const refused = await signIn("wrong");
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(300);
  });
});

const postgres = (await availableDatabases()).filter(({ name }) => name === "PostgreSQL");

test.each(postgres)(
  "the clock of a server on $name is set forward and back: windows and builds last as long as they should",
  async ({ make }) => {
    const database = await make();
    await start({ "tasks-lease": "15s" }, { SLIPWAY_DATABASE_URL: database.url });
    const { deliver, projectId } = await hook(8, "echo begun; sleep 3");
    clock.set(2 * hour);
    await timePasses(1_500);
    const first = await deliver(push);
    clock.set(0);
    await timePasses(1_000);
    expect((await deliver(push)).body.mergedIntoTaskId).toBe(Number(first.body.taskId));
    await server.logged(Number(first.body.taskId), "begun");
    clock.set(2 * hour);
    await server.reach(Number(first.body.taskId), "success");
    expect(await tasksOf(server.admin, projectId)).toHaveLength(1);
    await server.end("SIGTERM");
    await database.remove();
  },
);
