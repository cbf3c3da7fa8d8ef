import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { dirname } from "node:path";
import { type ApiServer, startApiServer } from "../support/api-server.ts";
import { deployClient } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { serveGit } from "../support/git-http-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { makeHook, sha } from "../support/hook.ts";
import { receiveNotifications } from "../support/notification-receiver.ts";
import { registerRunner } from "../support/protocol-runner.ts";
import { startRunnerProcess } from "../support/runner-process.ts";

/** A Git host with repositories and a status API, as Gitea has it. */
function startGitHost(repositories: string) {
  const statuses: { path: string; token: string; state: string; context: string; description?: string }[] =
    [];
  const git = serveGit(repositories, null);
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (!pathname.startsWith("/api/"))
        return fetch(`${git.url}${pathname.replace("/ann", "")}${search}`, {
          method: request.method,
          headers: request.headers,
          ...(request.method === "POST" ? { body: await request.arrayBuffer() } : {}),
        });
      const body = (await request.json()) as { state: string; context: string };
      statuses.push({ path: pathname, token: request.headers.get("authorization") ?? "", ...body });
      return new Response("{}", { status: 201 });
    },
  });
  return {
    url: server.url.origin,
    statuses,
    stop() {
      server.stop(true);
      git.stop();
    },
  };
}

const notifications = receiveNotifications((received) => (received.length === 1 ? 429 : 200));
let server: ApiServer;
let client: Awaited<ReturnType<typeof deployClient>>;
let repository: GitRepository;
let host: ReturnType<typeof startGitHost>;
let runner: ReturnType<typeof startRunnerProcess>;

beforeAll(async () => {
  repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" });
  host = startGitHost(dirname(repository.url));
  server = await startApiServer({
    "tasks.allowLocalRepositories": true,
    "tasks.allowInternalNotifications": true,
  });
  client = await deployClient(server.url, server.dataDir);
  const { token } = await registerRunner(server.url, server.admin, { name: "elsewhere" });
  runner = startRunnerProcess(server.url, token, 1);
});
afterAll(async () => {
  await runner.stop();
  await server.stop();
  host.stop();
  notifications.stop();
});

describe("the progress of a task on a remote runner", () => {
  test("is shown as a status of its commit at the Git host", async () => {
    const projectId = await client.project(`${host.url}/ann/shop.git`, { build: "true" });
    await server.admin.expect(200, "PUT", `/api/projects/${projectId}/webhook`, { provider: "gitea" });
    await server.admin.expect(204, "PUT", `/api/projects/${projectId}/keys/status-token`, { value: "t0ken" });
    const { id } = await client.run(projectId);
    const task = await client.reach(id, "success");
    await eventually("the host knows that it runs", () => host.statuses[0]?.state === "pending");
    await eventually("the host knows the end", () => host.statuses.at(-1)?.state === "success");
    expect(host.statuses.at(-1)).toMatchObject({
      path: `/api/v1/repos/ann/shop/statuses/${task.commit}`,
      token: "token t0ken",
      context: (
        await server.admin.expect<{ name: string }>(200, "GET", `/api/projects/${projectId}`)
      ).name.replace(/^/, "slipway/"),
    });
  });

  test("ends the status of a commit whose task was moved to a later push", async () => {
    const git = { url: `${host.url}/ann/shop.git`, ref: "main" };
    const hook = await makeHook(
      server,
      { provider: "gitea", events: ["push"], debounceSeconds: 600 },
      { git },
    );
    const path = `/api/projects/${hook.projectId}/keys/status-token`;
    await server.admin.expect(204, "PUT", path, { value: "t0ken" });
    const push = async (after: string) => {
      const headers = { "x-gitea-event": "push" };
      const { body } = await hook.deliver({ headers, payload: { ref: "refs/heads/main", after } });
      return body;
    };
    const toldOf = (commit: string) =>
      host.statuses.filter((status) => status.path.endsWith(commit)).map(({ state }) => state);
    const [first, second] = [sha("first"), sha("second")];
    const { taskId } = await push(first);
    await eventually("the first commit has a status", () => toldOf(first).length === 1);
    expect(await push(second)).toMatchObject({ status: "merged", mergedIntoTaskId: taskId });
    await eventually("the second commit has one", () => toldOf(second).length === 1);
    await eventually("that of the first has ended", () => toldOf(first).length === 2);
    await server.admin.expect(200, "POST", `/api/tasks/${taskId}/cancel`);
    await eventually("that of the second ends with its task", () => toldOf(second).length === 2);
    // A commit that a later push replaced inside the debounce window is no error.
    expect(toldOf(first)).toEqual(["pending", "success"]);
    expect(toldOf(second)).toEqual(["pending", "error"]);
  });

  test("is sent to the addresses that subscribed to the event, and to no others", async () => {
    const notify = [{ url: notifications.url, events: ["task.failed"] }];
    const projectId = await client.project(repository.url, { build: "false" }, { notify });
    const { id } = await client.run(projectId);
    await client.reach(id, "failed");
    const told = await notifications.event(id, "task.failed");
    expect(told.json.data.task).toMatchObject({ state: "failed", reason: "build failed with exit code 1" });
    expect(told.headers.get("webhook-id")).toStartWith("msg_");
    expect(told.headers.has("webhook-signature")).toBe(false);
    expect(new Set(notifications.eventsOf(id))).toEqual(new Set(["task.failed"]));
  });

  test("is counted", async () => {
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    for (const name of [
      'slipway_tasks{state="queued"} 0',
      'slipway_task_duration_seconds_count{result="success"} 1',
      'slipway_task_duration_seconds_count{result="failed"} 1',
      "slipway_task_wait_seconds_count 2",
      "slipway_task_leases_lost_total 0",
      'slipway_outgoing_calls_total{kind="commit status",result="delivered"}',
    ])
      expect(metrics).toContain(name);
  });

  test("says in the status of a failed commit that the previous one was put back", async () => {
    const projectId = await client.project(`${host.url}/ann/shop.git`, { deploy: "test ! -e broken" });
    await server.admin.expect(200, "PUT", `/api/projects/${projectId}/webhook`, { provider: "gitea" });
    await server.admin.expect(204, "PUT", `/api/projects/${projectId}/keys/status-token`, { value: "t0ken" });
    const statusesOf = (commit: string | null) =>
      host.statuses
        .filter(({ path }) => path.endsWith(`/${commit}`))
        .map(({ state, description }) => [state, description]);
    const first = await client.reach((await client.run(projectId)).id, "success");
    const broken = await repository.push({ broken: "" });
    const second = await client.reach((await client.run(projectId)).id, "failed");
    const said = `${broken.slice(0, 7)} failed; ${first.commit?.slice(0, 7)} was put back.`;
    expect(second.reason).toStartWith(said);
    await eventually("the host knows the outcome", () => statusesOf(broken).at(-1)?.[0] === "failure");
    expect(statusesOf(broken).at(-1)?.[1]).toStartWith(said);
    // A rollback by hand is a status of the commit that it brings back.
    const back = await server.admin.expect<{ id: number }>(
      201,
      "POST",
      `/api/projects/${projectId}/rollback`,
      {
        taskId: first.id,
      },
    );
    await client.reach(back.id, "success");
    await eventually("the host knows that it serves", () =>
      Bun.deepEquals(statusesOf(first.commit).at(-1), ["success", `Task ${back.id}: success`]),
    );
  });
});
