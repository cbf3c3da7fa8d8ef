import { describe, expect, test } from "bun:test";
import { webhookHeaders } from "../../src/standard-webhooks.ts";
import { availableDatabases } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { receiveNotifications } from "../support/notification-receiver.ts";
import { registerRunner } from "../support/protocol-runner.ts";
import { startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A notification that no receiver accepts, a server that ends, and the next server on the same data. */
async function toldAfter(signal: "SIGKILL" | "SIGTERM") {
  const dataDir = temporaryFolder("told");
  let isUp = false;
  const receiver = receiveNotifications(() => (isUp ? 200 : 503));
  const settings = { "runner-enabled": "false" };
  const first = await startServerProcess(dataDir, settings);
  const notify = [{ url: receiver.url, events: ["task.queued"] }];
  const projectId = await first.project("https://git.example.com/shop.git", { build: "true" }, { notify });
  const key = { value: "the key of the receiver" };
  await first.admin.expect(204, "PUT", `/api/projects/${projectId}/keys/notify-key`, key);
  await first.run(projectId);
  await eventually("it was refused once", () => receiver.received.length === 1);
  await first.end(signal);
  isUp = true;
  const next = await startServerProcess(dataDir, settings);
  await eventually("the next server sends it", () => receiver.received.length === 2, 90_000);
  await eventually("nothing waits any more", async () => {
    const metrics = await (await fetch(`${next.url}/metrics`)).text();
    return metrics.includes("slipway_outgoing_calls_waiting 0");
  });
  await next.end("SIGTERM");
  receiver.stop();
  return receiver.received;
}

// The tests mostly wait for the time of the next attempt, so they run at the same time.
test.concurrent("a waiting notification is sent after the server was killed, and after it was stopped", async () => {
  for (const received of await Promise.all([toldAfter("SIGKILL"), toldAfter("SIGTERM")])) {
    const [first, second] = received;
    expect(received).toHaveLength(2);
    expect(second?.body).toBe(first?.body ?? "");
    const id = second?.headers.get("webhook-id") ?? "";
    expect(id).toBe(first?.headers.get("webhook-id") ?? "");
    // Signed for this attempt: a receiver refuses a signature that is minutes old.
    const timestamp = Number(second?.headers.get("webhook-timestamp"));
    expect(timestamp).toBeGreaterThan(Number(first?.headers.get("webhook-timestamp")));
    const signed = webhookHeaders(id, timestamp, second?.body ?? "", "the key of the receiver");
    expect(second?.headers.get("webhook-signature")).toBe(signed["webhook-signature"] ?? "");
  }
});

describe.each(await availableDatabases())("on $name", ({ make }) => {
  test.concurrent("the end of a task is reported although the server is killed as soon as it is known", async () => {
    const database = await make();
    const dataDir = temporaryFolder("ended");
    const receiver = receiveNotifications();
    const settings = { "runner-enabled": "false" };
    const env = { SLIPWAY_DATABASE_URL: database.url, SLIPWAY_DATA_ENCRYPTION_KEY: "11".repeat(32) };
    const start = () => startServerProcess(dataDir, settings, [], env);
    const ended: number[] = [];
    for (let round = 0; round < 3; round++) {
      const server = await start();
      const runner = await registerRunner(server.url, server.admin, { name: `runner ${round}` });
      const notify = [{ url: receiver.url, events: ["task.succeeded"] }];
      const projectId = await server.project(
        "https://git.example.com/shop.git",
        { build: "true" },
        { notify },
      );
      const { id } = await server.run(projectId);
      const held = await runner.claim();
      if (held?.taskId !== id) throw new Error(`claimed ${held?.taskId} instead of ${id}`);
      await runner.call("finish", held, { state: "success", reason: "" });
      await server.end("SIGKILL");
      ended.push(id);
    }
    const last = await start();
    for (const id of ended) expect((await last.task(id)).state).toBe("success");
    const reported = () => ended.filter((id) => receiver.eventsOf(id).includes("task.succeeded"));
    await eventually("all of them are reported", () => reported().length === ended.length, 90_000);
    await last.end("SIGTERM");
    receiver.stop();
    await database.remove();
  }, 180_000);
});
