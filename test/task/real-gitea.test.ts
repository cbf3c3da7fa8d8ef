import { afterAll, expect, test } from "bun:test";
import { startDeployServer, textOf } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { makeRepository } from "../support/git-repository.ts";
import { startGitea } from "../support/gitea.ts";
import { serviceUrl } from "../support/services.ts";

const program = await serviceUrl("gitea");
if (program === undefined)
  throw new Error("Gitea is missing: its absence is reported at the start of the run");
const port = freePort();
const [gitea, server, repository] = await Promise.all([
  startGitea(program),
  startDeployServer({
    "server.listen": { host: "127.0.0.1", port },
    "server.baseUrl": `http://127.0.0.1:${port}`,
  }),
  makeRepository(),
]);
afterAll(async () => {
  await server.stop();
  server.remove();
  await gitea.stop();
});

await gitea.addPerson("ann");
await gitea.as("ann", "POST", "/user/repos", { name: "shop", default_branch: "main" });
const { sha1: token } = (await gitea.as("ann", "POST", "/users/ann/tokens", {
  name: "slipway",
  scopes: ["write:repository", "read:user"],
})) as { sha1: string };
const cloneUrl = `${gitea.url}/ann/shop.git`;

async function push(files: Record<string, string>, message: string): Promise<string> {
  const commit = await repository.push(files, { message });
  await repository.git("push", "-q", gitea.cloneAddress("ann", "ann/shop"), "HEAD:refs/heads/main");
  return commit;
}

interface DeliveryRow {
  status: string;
  task_id: number;
  commit: string;
  commit_message: string;
}

test("a webhook made with a token deploys a push, and the commit at Gitea gets its status", async () => {
  const { admin } = server;
  const { id: tokenId } = await admin.expect<{ id: number }>(201, "POST", "/api/host-tokens", {
    kind: "gitea",
    url: gitea.url,
    token,
  });
  const projectId = await server.project(cloneUrl, { build: "cat app.txt" }, { name: "shop" });
  await admin.expect(204, "PUT", `/api/projects/${projectId}/keys/status-token`, { value: token });
  const hook = await admin.expect<object>(200, "POST", `/api/projects/${projectId}/host-hook`, { tokenId });
  expect(hook).toMatchObject({ state: "ok", isChecked: true });

  const commit = await push({ "app.txt": "sold here: apples\n" }, "Sell apples");
  let delivery: DeliveryRow | undefined;
  await eventually("the push was delivered", async () => {
    const path = `/api/webhooks/deliveries?projectId=${projectId}`;
    const { items } = await admin.expect<{ items: DeliveryRow[] }>(200, "GET", path);
    delivery = items.find((item) => item.commit === commit);
    return delivery !== undefined;
  });
  expect(delivery).toMatchObject({ status: "accepted", commit_message: "Sell apples" });
  const task = await server.reach(delivery?.task_id ?? 0, "success");
  expect(task).toMatchObject({ triggerType: "webhook", triggeredBy: "ann", commit });
  expect(textOf(await server.log(task.id))).toContain("sold here: apples");
  await eventually("Gitea shows the status", async () => {
    const path = `/repos/ann/shop/commits/${commit}/status`;
    const { statuses } = (await gitea.as("ann", "GET", path)) as { statuses: { status: string }[] | null };
    return statuses?.[0]?.status === "success";
  });
});

test("a merge request of a fork that changes the pipeline file runs that of the target branch", async () => {
  const { admin } = server;
  await gitea.addPerson("bob");
  await gitea.as("ann", "POST", "/user/repos", { name: "web", default_branch: "main" });
  const files = await makeRepository();
  const pushTo = (person: string, path: string, branch: string) =>
    files.git("push", "-q", gitea.cloneAddress(person, path), `HEAD:refs/heads/${branch}`);
  await files.push({
    ".slipway.yaml": "build: [{ name: test, script: cat app.txt }]\n",
    "app.txt": "of ann\n",
  });
  await pushTo("ann", "ann/web", "main");
  const { id: tokenId } = await admin.expect<{ id: number }>(201, "POST", "/api/host-tokens", {
    ...{ kind: "gitea", url: gitea.url, token },
  });
  const pipeline = { from: "repository" };
  const projectId = await server.project(`${gitea.url}/ann/web.git`, {}, { name: "web", pipeline });
  await admin.expect(204, "PUT", `/api/projects/${projectId}/keys/status-token`, { value: token });
  const rules = { events: ["push", "merge_request"], refSource: "webhook", allowForks: true };
  await admin.expect(200, "PUT", `/api/projects/${projectId}/webhook`, {
    ...{ enabled: true, provider: "gitea", ...rules },
  });
  await admin.expect<object>(200, "POST", `/api/projects/${projectId}/host-hook`, { tokenId });

  await gitea.as("bob", "POST", "/repos/ann/web/forks", {});
  const commit = await files.push({
    ".slipway.yaml": "build: [{ name: theft, script: echo stolen }]\n",
    "app.txt": "of bob\n",
  });
  await pushTo("bob", "bob/web", "better");
  // Gitea learns of a pushed branch a moment after the push.
  const merge = { head: "bob:better", base: "main", title: "Better" };
  await eventually("the merge request is made", () =>
    gitea.as("bob", "POST", "/repos/ann/web/pulls", merge).then(
      () => true,
      (problem: Error) => (/answered 404/.test(problem.message) ? false : Promise.reject(problem)),
    ),
  );
  let taskId: number | undefined;
  await eventually("the merge request is built", async () => {
    const { items } = await admin.expect<{ items: { id: number; commit: string }[] }>(
      ...[200, "GET", `/api/tasks?projectId=${projectId}`],
    );
    taskId = items.find((item) => item.commit === commit)?.id;
    return taskId !== undefined;
  });
  const task = await server.reach(taskId ?? 0, "success");
  expect(task.source).toMatchObject({ fromFork: true, targetBranch: "main" });
  expect(task.stages[0]?.steps.map(({ name }) => name)).toEqual(["test"]);
  const text = textOf(await server.log(task.id));
  expect(text).toContain("pipeline of .slipway.yaml of main");
  expect(text).toContain("of bob");
  expect(text).not.toContain("stolen");

  await files.push({ ".slipway.yaml": "build:\n  - scirpt: npm test\n" });
  await files.git("push", "-q", "--force", gitea.cloneAddress("ann", "ann/web"), "HEAD:refs/heads/main");
  const broken = await files.git("rev-parse", "HEAD");
  await eventually("Gitea shows what is wrong with the file", async () => {
    const path = `/repos/ann/web/commits/${broken}/status`;
    const { statuses } = (await gitea.as("ann", "GET", path)) as {
      statuses: { status: string; description: string }[] | null;
    };
    return (
      statuses?.some(
        ({ status, description }) =>
          status === "failure" && description.includes("line 2, column 5: build.0.scirpt"),
      ) === true
    );
  });
});

test("pushes to two branches at once reach two environments, each with a commit status of its own", async () => {
  const { admin } = server;
  const { id: tokenId } = await admin.expect<{ id: number }>(201, "POST", "/api/host-tokens", {
    kind: "gitea",
    url: gitea.url,
    token,
  });
  const projectId = await server.project(
    cloneUrl,
    { build: 'echo "for $PLACE"' },
    {
      name: "placed",
      environments: [
        { name: "staging", refs: ["next"], env: { PLACE: "staging" } },
        { name: "production", refs: ["live"], env: { PLACE: "production" } },
      ],
    },
  );
  await admin.expect(204, "PUT", `/api/projects/${projectId}/keys/status-token`, { value: token });
  await admin.expect(200, "POST", `/api/projects/${projectId}/host-hook`, { tokenId });
  const commit = await repository.push({ "place.txt": "two\n" }, { message: "Two places" });
  const address = gitea.cloneAddress("ann", "ann/shop");
  await repository.git("push", "-q", address, "HEAD:refs/heads/next", "HEAD:refs/heads/live");
  let found: { environment: string; status: string; task_id: number; commit: string }[] = [];
  await eventually("both pushes were delivered", async () => {
    const path = `/api/webhooks/deliveries?projectId=${projectId}&status=accepted`;
    const { items } = await admin.expect<{ items: typeof found }>(200, "GET", path);
    found = items.filter((item) => item.commit === commit);
    return new Set(found.map(({ environment }) => environment)).size === 2;
  });
  for (const { environment, task_id } of found) {
    await server.reach(task_id, "success");
    expect(textOf(await server.log(task_id))).toContain(`for ${environment}`);
  }
  await eventually("Gitea shows both statuses", async () => {
    const path = `/repos/ann/shop/commits/${commit}/status`;
    const { statuses } = (await gitea.as("ann", "GET", path)) as {
      statuses: { context: string; status: string }[] | null;
    };
    const contexts = (statuses ?? [])
      .filter(({ status }) => status === "success")
      .map((each) => each.context);
    return ["slipway/placed/staging", "slipway/placed/production"].every((each) => contexts.includes(each));
  });
});
