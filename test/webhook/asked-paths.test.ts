import { afterAll, describe, expect, test } from "bun:test";
import { dirname } from "node:path";
import { startDeployServer } from "../support/deploy-server.ts";
import { serveGit } from "../support/git-http-server.ts";
import { makeRepository } from "../support/git-repository.ts";

/** A push of more commits than the host lists. */
const repository = await makeRepository();
const before = await repository.push({ "docs/one.md": "1" });
await repository.push({ "src/hidden.ts": "1" });
const credential = { type: "token", username: "deployer", token: "clone-token-123456" };
const git = serveGit(dirname(repository.url), credential);
const server = await startDeployServer({
  "hosts.trusted": [new URL(git.url).origin],
  "webhook.reconcileMinutes": 0,
});
afterAll(async () => {
  await server.stop();
  server.remove();
  git.stop();
});

async function push(pathFilter: string[], { url = `${git.url}/shop.git`, hasCredential = true } = {}) {
  const project = await server.project(url, { build: "true" });
  if (hasCredential) await server.admin.expect(204, "PUT", `/api/projects/${project}/credential`, credential);
  const hook = await server.admin.expect<{ url: string }>(200, "PUT", `/api/projects/${project}/webhook`, {
    enabled: true,
    provider: "gitlab",
    pathFilter,
    debounceSeconds: 0,
  });
  const after = await repository.push({ "docs/two.md": String(Math.random()) });
  const listed = {
    id: after,
    message: "The last of many",
    added: [],
    modified: ["docs/two.md"],
    removed: [],
  };
  const answer = await fetch(hook.url, {
    method: "POST",
    headers: { "content-type": "application/json", "x-gitlab-event": "Push Hook" },
    body: JSON.stringify({
      ref: "refs/heads/main",
      before,
      after,
      checkout_sha: after,
      total_commits_count: 57,
      commits: [listed],
    }),
  });
  const { deliveryId, code } = (await answer.json()) as { deliveryId: number; code: string };
  const { trace } = await server.admin.expect<{ trace: { step: string; result: string; detail: string }[] }>(
    200,
    "GET",
    `/api/webhooks/deliveries/${deliveryId}`,
  );
  return { code, trace: trace.filter(({ step }) => ["paths", "path"].includes(step)) };
}

describe("a push of more commits than the host lists", () => {
  test("is ignored if none of its files match, as the host says when asked", async () => {
    const { code, trace } = await push(["web/**"]);
    expect(code).toBe("path_not_matched");
    expect(trace).toMatchObject([
      { step: "paths", result: "pass", detail: expect.stringContaining("the host sent 1 of 57 commits") },
      { step: "path", result: "stop" },
    ]);
  });

  test("is built if a file matches that only the host knows", async () => {
    const { code, trace } = await push(["src/**"]);
    expect([code, trace.at(-1)?.result]).toEqual(["accepted", "pass"]);
  });

  test("passes if the host cannot be asked, and says why", async () => {
    const { code, trace } = await push(["web/**"], { hasCredential: false });
    expect(code).toBe("accepted");
    expect(trace).toMatchObject([
      { step: "paths", result: "unknown", detail: expect.stringContaining("could not be asked") },
      { step: "path", result: "unknown" },
    ]);
  });

  test("is not asked for without a path filter", async () => {
    const { code, trace } = await push([]);
    expect([code, trace.map(({ step }) => step)]).toEqual(["accepted", ["path"]]);
  });
});
