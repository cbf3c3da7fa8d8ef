import { expect, test } from "bun:test";
import pino from "pino";
import { type App, buildApp } from "../../src/app.ts";
import { manualClock } from "../../src/clock.ts";
import type { TaskJson } from "../../src/task/view/task-json.ts";
import { type ApiClient, adminPassword, signInAt } from "../support/api-server.ts";
import { taskSettings } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { registerRunner } from "../support/protocol-runner.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const dayMs = 86_400_000;
const dataDir = temporaryFolder("retention");
const clock = manualClock();
const logLines: string[] = [];
const log = pino({ level: "debug" }, { write: (line: string) => void logLines.push(line) });

async function withServer(work: (api: ApiClient, app: App) => Promise<void>): Promise<void> {
  process.env.SLIPWAY_ADMIN_PASSWORD = adminPassword;
  const settings = { "runner.enabled": false, "webhook.deliveryRetentionDays": 1000 };
  const app = await buildApp(taskSettings(dataDir, settings), "start", log, clock);
  try {
    await work(await signInAt(app.url, "admin", adminPassword), app);
  } finally {
    await app.stop();
  }
}

test("finished tasks are kept for a year by default; references to a deleted task stay readable", async () => {
  const ids = { project: 0, live: 0, failed: 0, again: 0, delivered: 0, delivery: 0, last: 0 };

  await withServer(async (api, app) => {
    const stages = { deploy: { script: "true" } };
    const make = (name: string) =>
      api.expect<{ id: number }>(201, "POST", "/api/projects", {
        name,
        git: { url: "https://git.example.com/shop.git" },
        stages,
      });
    ids.project = (await make("shop")).id;
    const runner = await registerRunner(app.url, api, { name: "by hand" });
    const run = async (end: "success" | "failed"): Promise<number> => {
      await api.expect(201, "POST", `/api/projects/${ids.project}/tasks`, {});
      const task = await runner.claim();
      if (task === null) throw new Error("there is no task");
      const line = { stage: "deploy", at: new Date(clock.now()).toISOString(), text: "a line" };
      await runner.call("stage", task, { stage: "deploy", state: "running", exitCode: null });
      await runner.call("log", task, { from: 0, lines: [line] });
      await runner.call("stage", task, { stage: "deploy", state: end, exitCode: 0 });
      await runner.call("finish", task, { state: end, reason: "" });
      return task.taskId;
    };
    ids.failed = await run("failed");
    ids.live = await run("success");
    const hook = await api.expect<{ url: string }>(200, "PUT", `/api/projects/${ids.project}/webhook`, {
      enabled: true,
    });
    const delivery = await fetch(hook.url, {
      method: "POST",
      body: JSON.stringify({ event: "push", ref: "main", refType: "branch", commit: "a".repeat(40) }),
    });
    const { taskId, deliveryId } = (await delivery.json()) as { taskId: number; deliveryId: number };
    [ids.delivered, ids.delivery] = [taskId, deliveryId];
    await api.expect(200, "POST", `/api/tasks/${taskId}/cancel`);
    const { id: quiet } = await make("quiet");
    ids.last = (await api.expect<TaskJson>(201, "POST", `/api/projects/${quiet}/tasks`, {})).id;
    await api.expect(200, "POST", `/api/tasks/${ids.last}/cancel`);
  });

  clock.advance(364 * dayMs);
  await withServer(async (api) => {
    const again = await api.expect<TaskJson>(201, "POST", `/api/tasks/${ids.failed}/rerun`);
    ids.again = again.id;
    await api.expect(200, "POST", `/api/tasks/${again.id}/cancel`);
  });

  clock.advance(2 * dayMs);
  await withServer(async (api, app) => {
    await eventually("the old ones are deleted", () =>
      logLines.some((line) => line.includes("old tasks were deleted")),
    );
    const { items } = await api.expect<{ items: TaskJson[] }>(200, "GET", "/api/tasks");
    expect(items.map(({ id }) => id)).toEqual([ids.again, ids.last, ids.live]);
    expect(items[0]).toMatchObject({ rerunOf: ids.failed });
    const project = await api.expect(200, "GET", `/api/projects/${ids.project}`);
    expect(project).toMatchObject({ liveTaskId: ids.live });
    const { lines } = await api.expect<{ lines: unknown[] }>(200, "GET", `/api/tasks/${ids.live}/log`);
    expect(lines).toHaveLength(1);

    const delivery = await api.expect(200, "GET", `/api/webhooks/deliveries/${ids.delivery}`);
    expect(delivery).toMatchObject({ status: "accepted", task_id: ids.delivered });
    for (const id of [ids.delivered, ids.failed]) {
      const gone = await api.request("GET", `/api/tasks/${id}`);
      expect([gone.status, (gone.body as { error: { message: string } }).error.message]).toEqual([
        404,
        `There is no task ${id} that you may see; finished tasks are kept for 365 days.`,
      ]);
      expect((await api.request("GET", `/api/tasks/${id}/log`)).status).toBe(404);
      expect((await api.request("POST", `/api/tasks/${id}/rerun`)).status).toBe(404);
    }
    expect(await (await fetch(`${app.url}/metrics`)).text()).toContain("slipway_tasks_cleaned_total 2");
  });
});
