import { afterAll, expect, test } from "bun:test";
import { startApiServer } from "../support/api-server.ts";
import { eventually } from "../support/eventually.ts";
import { makeHook, sha, type TestHook } from "../support/hook.ts";
import { startStatusService } from "../support/status-services.ts";

const host = startStatusService("gitea");
const git = { url: host.cloneUrl, ref: "main" };

const server = await startApiServer({
  "tasks.allowInternalNotifications": true,
  "tasks.allowLocalRepositories": true,
  "webhook.debounceSeconds": 0,
});
afterAll(async () => {
  await server.stop();
  host.stop();
});

const config = { provider: "gitea", events: ["push"], branchFilter: ["main"] };

async function hookWith(project: object, change: object = {}): Promise<TestHook> {
  const hook = await makeHook(server, { ...config, ...change }, { git, ...project });
  await server.admin.expect(204, "PUT", `/api/projects/${hook.projectId}/keys/status-token`, {
    value: host.token,
  });
  return hook;
}

async function push(hook: TestHook, branch: string, after: string): Promise<unknown> {
  const headers = { "x-gitea-event": "push" };
  const { body } = await hook.deliver({ headers, payload: { ref: `refs/heads/${branch}`, after } });
  return body.status;
}

/** Messages to one host start in their order, so all earlier ones have arrived when that of another push does. */
async function statusesArrived(hook: TestHook): Promise<void> {
  const commit = sha(`last of ${hook.projectId}`);
  expect(await push(hook, "main", commit)).toBe("accepted");
  await eventually("the last push has a status", () => heldOf(commit).length > 0);
}

const heldOf = (commit: string) => host.held.filter((status) => status.commit === commit);

test("a push that a filter excludes gets a status with the reason, if the project asks for it", async () => {
  const hook = await hookWith({ name: "asks", commitStatus: { skipped: true } });
  const commit = sha("excluded");
  expect(await push(hook, "other", commit)).toBe("ignored");
  await eventually("the commit has a status", () => heldOf(commit).length === 1);
  expect(heldOf(commit)[0]).toMatchObject({ context: "slipway/asks", state: "success" });
  expect(heldOf(commit)[0]?.description).toStartWith("Skipped: ");
  // The same commit on a branch that is built: the status of its task takes the place.
  expect(await push(hook, "main", commit)).toBe("accepted");
  await eventually("the task has a status", () => heldOf(commit).at(-1)?.state === "pending");
});

test("it does not replace the status of a task", async () => {
  const hook = await hookWith({ name: "keeps", commitStatus: { skipped: true } });
  const commit = sha("built first");
  expect(await push(hook, "main", commit)).toBe("accepted");
  await eventually("the task has a status", () => heldOf(commit).length === 1);
  expect(await push(hook, "other", commit)).toBe("ignored");
  const path = `/api/projects/${hook.projectId}/notification-attempts`;
  await eventually("the push was looked at", async () => {
    const { items } = await server.admin.expect<{ items: { event: string }[] }>(200, "GET", path);
    return items[0]?.event === "skipped";
  });
  expect(heldOf(commit).map(({ state }) => state)).toEqual(["pending"]);
});

test("a push of two branches at once leaves the status of the task, whichever arrives first", async () => {
  const hook = await hookWith({ name: "both", commitStatus: { skipped: true } });
  const commits = Array.from({ length: 10 }, (_, index) => sha(`both ${index}`));
  for (const commit of commits) await Promise.all([push(hook, "other", commit), push(hook, "main", commit)]);
  await eventually("every task has a status", () =>
    commits.every((commit) => heldOf(commit).some(({ state }) => state === "pending")),
  );
  await statusesArrived(hook);
  expect(commits.map((commit) => heldOf(commit).at(-1)?.state)).toEqual(commits.map(() => "pending"));
});

test("without the setting an excluded push has no status", async () => {
  const hook = await hookWith({ name: "silent" });
  const commit = sha("silent");
  expect(await push(hook, "other", commit)).toBe("ignored");
  await statusesArrived(hook);
  expect(heldOf(commit)).toEqual([]);
});

test("two projects that report under one context are warned of", async () => {
  const one = await hookWith({ name: "one", commitStatus: { context: "slipway" } });
  const two = await hookWith({ name: "two", git: { ...git, url: `${git.url.replace(".git", "")}/` } });
  const path = (hook: TestHook) => `/api/projects/${hook.projectId}`;
  const warningsOf = async (hook: TestHook) =>
    (await server.admin.expect<{ warnings: string[] }>(200, "GET", `${path(hook)}/commit-status`)).warnings;
  expect(await warningsOf(one)).toEqual([]);
  const change = { commitStatus: { context: "slipway" } };
  const changed = await server.admin.expect<{ warnings: string[] }>(200, "PATCH", path(two), change);
  expect(changed.warnings.join()).toContain("one reports commit statuses of the same repository");
  expect((await warningsOf(one)).join()).toContain("two reports commit statuses");
  // Who may not see the other project does not learn its name.
  const { id, client } = await server.newUser("vera");
  await server.admin.expect(200, "PUT", `${path(one)}/members/${id}`, { permission: "view" });
  const seen = await client.expect<{ warnings: string[] }>(200, "GET", `${path(one)}/commit-status`);
  expect(seen.warnings.join()).toContain("another project reports");
  await server.admin.expect(200, "PATCH", path(two), { commitStatus: { context: "slipway/two" } });
  expect(await warningsOf(one)).toEqual([]);
});

test("the attempts are for managers alone", async () => {
  const hook = await hookWith({ name: "managed", notify: [{ url: "https://a.example/hooks/x" }] });
  const { id, client } = await server.newUser("viewer");
  const path = `/api/projects/${hook.projectId}`;
  await server.admin.expect(200, "PUT", `${path}/members/${id}`, { permission: "view" });
  await client.expect(403, "GET", `${path}/notification-attempts`);
  const { notify } = await client.expect<{ notify: { id: string; url: string }[] }>(200, "GET", path);
  expect(notify[0]?.url).toBe("https://a.example/…ks/x");
  await client.expect(403, "POST", `${path}/notify/${notify[0]?.id}/test`);
});
