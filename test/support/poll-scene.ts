import { onTestFinished } from "bun:test";
import { startDeployServer } from "./deploy-server.ts";
import { eventually } from "./eventually.ts";
import { makeRepository } from "./git-repository.ts";

interface Delivery {
  id: number;
  status: string;
  code: string;
  commit: string;
  ref: string;
  remote_ip: string;
  provider: string;
  commit_message: string;
  author: string;
  task_id: number;
  merged_into_task_id: number | null;
}
export interface Webhook {
  url: string;
  warnings: string[];
  poll: { lastAt: string | null; nextAt: string | null; error: string; note: string } | null;
}

export const often = { "webhook.reconcileMinutes": 0.015 };
/** Only the poll at the start. */
export const atStart = { "webhook.reconcileMinutes": 600 };

/** Of a scene that executes its tasks. */
export const withRunner = { "runner.enabled": true };

/**
 * A server without a runner, with one project whose webhook is enabled; it can be stopped and started again, and ends with
 * its test.
 */
export async function scene(
  settings: Record<string, unknown> = {},
  config: Record<string, unknown> = {},
  url?: string,
) {
  const repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" }, { message: "First" });
  const common = { ...often, "runner.enabled": false, ...settings };
  let server = await startDeployServer(common);
  const { dataDir } = server;
  const project = await server.project(url ?? repository.url, { build: "cat app.txt" });
  const hook = `/api/projects/${project}/webhook`;
  await server.admin.expect(200, "PUT", hook, { enabled: true, provider: "gitea", ...config });
  onTestFinished(async () => {
    await server.stop();
    server.remove();
  });
  const webhook = () => server.admin.expect<Webhook>(200, "GET", hook);
  return {
    repository,
    dataDir,
    project,
    hook,
    webhook,
    server: () => server,
    async start(next: Record<string, unknown> = {}) {
      server = await startDeployServer({ ...common, ...next }, dataDir);
    },
    /** Starts the server again with `atStart` and waits for that poll: until the next start nothing is polled. */
    async stopPolling() {
      await server.stop();
      const stoppedAt = new Date().toISOString();
      await this.start(atStart);
      await eventually(
        "the poll at the start has ended",
        async () => ((await webhook()).poll?.lastAt ?? "") > stoppedAt,
      );
    },
    /** Waits for a poll that begins after this call. */
    async polled() {
      const before = (await webhook()).poll?.lastAt ?? "";
      const isNewer = async (than: string) => ((await webhook()).poll?.lastAt ?? "") > than;
      await eventually("a poll has ended", () => isNewer(before));
      const first = (await webhook()).poll?.lastAt ?? "";
      await eventually("another poll has ended", () => isNewer(first));
    },
    async deliveries() {
      const list = await server.admin.expect<{ items: Delivery[] }>(
        200,
        "GET",
        `/api/webhooks/deliveries?projectId=${project}&pageSize=100`,
      );
      return list.items;
    },
    async tasks() {
      const list = await server.admin.expect<{ items: { id: number; commit: string; ref: string }[] }>(
        200,
        "GET",
        `/api/tasks?projectId=${project}`,
      );
      return list.items;
    },
    async send(commit: string, ref = "refs/heads/main") {
      const { url: address } = await webhook();
      const response = await fetch(server.url + new URL(address).pathname, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-gitea-event": "push",
          "x-gitea-delivery": crypto.randomUUID(),
        },
        body: JSON.stringify({ ref, after: commit, commits: [{ id: commit, message: "pushed" }] }),
      });
      return (await response.json()) as {
        status: string;
        code: string;
        taskId?: number;
        mergedIntoTaskId?: number;
      };
    },
  };
}

/** Waits for the delivery of a commit. */
export async function found(at: Awaited<ReturnType<typeof scene>>, commit: string): Promise<Delivery> {
  let delivery: Delivery | undefined;
  await eventually("the poll makes a delivery", async () => {
    delivery = (await at.deliveries()).find((entry) => entry.commit === commit);
    return delivery !== undefined;
  });
  return delivery as Delivery;
}
