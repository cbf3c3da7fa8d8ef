import { describe, expect, test } from "bun:test";
import { SlipwayPush } from "../../client/slipway-push.ts";
import type { LiveMessage } from "../../src/task/events/console-messages.ts";
import { type ApiClient, signInAt, userPassword } from "../support/api-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";

const { server, repository } = await setUpDeploy();

/** A live connection as the console opens it. */
function watch(client: ApiClient, ...channels: string[]) {
  const messages: LiveMessage[] = [];
  const joined = new Set<string>();
  const refused = new Set<string>();
  const push = new SlipwayPush({
    url: `${server.url}/ws`,
    temporary: true,
    minDelayMs: 10,
    code: async () =>
      (await client.expect<{ code: string }>(201, "POST", "/api/push/codes", { for: "console" })).code,
  });
  push.on("message", ({ data }) => messages.push(JSON.parse(data) as LiveMessage));
  push.on("open", () => {
    for (const channel of channels) push.join(channel);
  });
  push.on("joined", (channel) => joined.add(channel));
  push.on("left", (channel) => joined.delete(channel));
  push.on("problem", ({ channel }) => refused.add(channel ?? ""));
  push.open();
  return { messages, joined, refused, close: () => push.close() };
}

async function newUser(username: string): Promise<{ id: number; client: ApiClient }> {
  const body = { username, password: userPassword, role: "user" };
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/users", body);
  return { id, client: await signInAt(server.url, username, userPassword) };
}

const events = (messages: LiveMessage[]) =>
  messages.flatMap((message) =>
    message.type === "task" && message.event !== "task.changed" ? [message.event] : [],
  );

describe("users who may view a project get events of its tasks", () => {
  test("states on the project's channel, and the log in order and without a gap on the task's", async () => {
    const count = 2000;
    const projectId = await server.project(repository.url, {
      build: `while [ ! -f "${server.scratch}/go" ]; do sleep 0.02; done; seq 1 ${count}`,
    });
    const project = watch(server.admin, `private-project-${projectId}`);
    await eventually("the project is joined", () => project.joined.size === 1);
    const { id } = await server.run(projectId);
    const task = watch(server.admin, `private-project-${projectId}/task-${id}`);
    await eventually("the task is joined", () => task.joined.size === 1);
    await Bun.write(`${server.scratch}/go`, "");
    await server.reach(id, "success");
    await eventually("the end is published", () => events(task.messages).includes("task.succeeded"));
    await eventually("it is published to the project too", () =>
      events(project.messages).includes("task.succeeded"),
    );
    expect(events(project.messages)).toEqual(["task.queued", "task.started", "task.succeeded"]);
    const lines = task.messages.flatMap((message) => (message.type === "log" ? message.lines : []));
    expect(lines.map(({ index }) => index)).toEqual(lines.map((_, at) => (lines[0]?.index ?? 0) + at));
    expect(lines.filter(({ stage }) => stage === "build").map(({ text }) => Number(text))).toEqual(
      Array.from({ length: count }, (_, index) => index + 1),
    );
    project.close();
    task.close();
  });

  test("and no longer after the permission was removed", async () => {
    const projectId = await server.project(repository.url, { build: "true" });
    const channel = `private-project-${projectId}`;
    const { id: userId, client } = await newUser("ann");
    await server.admin.expect(200, "PUT", `/api/projects/${projectId}/members/${userId}`, {
      permission: "view",
    });
    const viewer = watch(client, channel);
    await eventually("the viewer has joined", () => viewer.joined.has(channel));
    const first = await server.run(projectId);
    await server.reach(first.id, "success");
    await eventually("the viewer hears of it", () => events(viewer.messages).includes("task.succeeded"));

    await server.admin.expect(204, "DELETE", `/api/projects/${projectId}/members/${userId}`);
    await eventually("the viewer has left", () => !viewer.joined.has(channel));
    const heard = viewer.messages.length;
    const second = await server.run(projectId);
    await server.reach(second.id, "success");
    expect(viewer.messages).toHaveLength(heard);
    viewer.close();
  });

  test("no other connection joins the channel", async () => {
    const projectId = await server.project(repository.url, { build: "true" });
    const stranger = watch((await newUser("bob")).client, `private-project-${projectId}`);
    await eventually("the stranger is refused", () => stranger.refused.size === 1);
    expect(stranger.joined.size).toBe(0);
    stranger.close();
  });
});
