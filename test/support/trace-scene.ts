import { basename, dirname, join } from "node:path";
import { SlipwayPush } from "../../client/slipway-push.ts";
import type { LiveMessage } from "../../src/task/events/console-messages.ts";
import { type DeployServer, type Scripts, startDeployServer } from "./deploy-server.ts";
import { eventually } from "./eventually.ts";
import { gitBackend } from "./git-http-server.ts";
import { makeRepository } from "./git-repository.ts";
import { reportPushesAsGitea } from "./gitea-hook.ts";
import { receiveNotifications } from "./notification-receiver.ts";
import { startCollector } from "./otlp-collector.ts";

const secret = "hook-secret-of-the-test";

/** A server that sends its spans to a collector, a Git host with commit statuses, and a receiver of notifications. */
export async function openTraceScene(settings: Parameters<typeof startDeployServer>[0] = {}) {
  const collector = startCollector();
  const notifications = receiveNotifications();
  const server = await startDeployServer({ "telemetry.otlp-endpoint": collector.url, ...settings });
  const hosts: ReturnType<typeof serveHost>[] = [];
  return {
    collector,
    server,
    notifications,
    async project(scripts: Scripts) {
      const repository = await makeRepository();
      await repository.push({ "version.txt": "1\n" }, { message: "Sell apples" });
      const host = serveHost(repository.url);
      hosts.push(host);
      const projectId = await server.project(host.cloneUrl, scripts, {
        notify: [{ url: notifications.url }],
      });
      const path = `/api/projects/${projectId}`;
      await server.admin.expect(204, "PUT", `${path}/keys/status-token`, { value: "gitea-1" });
      const change = { enabled: true, provider: "gitea", secret };
      const { url } = await server.admin.expect<{ url: string }>(200, "PUT", `${path}/webhook`, change);
      reportPushesAsGitea(repository, url, secret);
      return { projectId, repository, hookUrl: url, statuses: host.statuses };
    },
    openTab: (projectId: number) => openTab(server, projectId),
    async close() {
      await server.stop();
      server.remove();
      for (const host of hosts) host.stop();
      notifications.stop();
      collector.stop();
    },
  };
}

/** A Git host: one bare repository, and the commit statuses that it accepts. */
function serveHost(bare: string) {
  const root = dirname(dirname(bare));
  const owner = basename(dirname(bare));
  const statuses: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const url = new URL(request.url);
      if (!url.pathname.startsWith("/api/")) return gitBackend(request, url, root);
      statuses.push(String(((await request.json()) as { state: string }).state));
      return Response.json({ id: statuses.length }, { status: 201 });
    },
  });
  return {
    cloneUrl: new URL(join(owner, basename(bare)), server.url).href,
    statuses,
    stop: () => server.stop(true),
  };
}

/** A live connection as an open page of the console has it. */
async function openTab({ url, admin }: DeployServer, projectId: number) {
  const messages: LiveMessage[] = [];
  let isJoined = false;
  const push = new SlipwayPush({
    url: `${url}/ws`,
    temporary: true,
    minDelayMs: 10,
    code: async () =>
      (await admin.expect<{ code: string }>(201, "POST", "/api/push/codes", { for: "console" })).code,
  });
  push.on("message", ({ data }) => messages.push(JSON.parse(data) as LiveMessage));
  push.on("open", () => push.join(`private-project-${projectId}`));
  push.on("joined", () => {
    isJoined = true;
  });
  push.open();
  await eventually("the tab has joined", () => isJoined);
  return {
    messages,
    /** Waits for an event of a task; returns the task's id. */
    async event(event: string): Promise<number> {
      const find = () =>
        messages.flatMap((message) =>
          message.type === "task" && message.event === event ? [message.task.id] : [],
        )[0];
      await eventually(`the tab gets ${event}`, () => find() !== undefined, 90_000);
      return find() ?? 0;
    },
    close: () => push.close(),
  };
}
