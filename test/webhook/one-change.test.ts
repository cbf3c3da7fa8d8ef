import { describe, expect, onTestFinished, test } from "bun:test";
import { startApiServer } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";
import { makeHook, sha, tasksOf } from "../support/hook.ts";
import { registerRunner } from "../support/protocol-runner.ts";

const server = await setUpApi({ "webhook.limitPerMinute": 10_000 });

const stages = { build: { script: "true" }, deploy: { script: "true" } };
const every = { provider: "gitea", events: ["push", "tag", "merge_request"], debounceSeconds: 0 };
const hookOf = (config: object = {}) => makeHook(server, { ...every, ...config }, { stages });
const gitea = (event: string, payload: object) => ({ headers: { "x-gitea-event": event }, payload });

describe("an annotated tag", () => {
  const [commit, object] = [sha("tagged commit"), sha("tag object")];
  const repository = { full_name: "ann/shop" };
  const sender = { login: "ann" };
  // As Gitea 1.23.8 sends them: both name the tag object, and only head_commit names the commit.
  const push = (tag = object) =>
    gitea("push", {
      ...{ ref: "refs/tags/v1.0", before: "0".repeat(40), after: tag, commits: [], total_commits: 0 },
      ...{ head_commit: { id: commit, message: "Sell pears\n" }, repository, pusher: sender, sender },
    });
  const create = (tag = object) =>
    gitea("create", { sha: tag, ref: "v1.0", ref_type: "tag", repository, sender });

  test.each([
    ["push first", [push(), create()], 0],
    ["create first", [create(), push()], 0],
    ["push first, with a window", [push(), create()], 60],
    ["create first, with a window", [create(), push()], 60],
  ])("is deployed once, at its commit: %s", async (_, events, debounceSeconds) => {
    const hook = await hookOf({ debounceSeconds });
    const answers = [];
    for (const event of events) answers.push((await hook.deliver(event)).body.status);
    expect(answers).toEqual(["accepted", "merged"]);
    expect(await tasksOf(server.admin, hook.projectId)).toMatchObject([
      { ref: "refs/tags/v1.0", commit, message: "Sell pears\n", source: { tagObject: object } },
    ]);
  });

  test("that names another object since is another change", async () => {
    const hook = await hookOf();
    await hook.deliver(push());
    const { body } = await hook.deliver(create(sha("another tag object")));
    expect(body.status).toBe("accepted");
  });
});

describe("a merge whose push runs more stages", () => {
  const push = gitea("push", { ref: "refs/heads/main", after: sha("merge"), pusher: { login: "ann" } });
  const merge = gitea("pull_request", {
    action: "closed",
    number: 7,
    pull_request: {
      ...{ number: 7, title: "Sell pears", merged: true, merge_commit_sha: sha("merge") },
      head: { ref: "pears", sha: sha("pears"), repo: { full_name: "ann/shop" } },
      base: { ref: "main", repo: { full_name: "ann/shop" } },
    },
  });
  const buildOnly = { build: true, deploy: false, start: false };

  test("waits for the push and becomes one task with it, also while a runner is free", async () => {
    const alone = await startApiServer();
    onTestFinished(() => alone.stop());
    const hook = await makeHook(alone, { ...every, mergeRequestActions: buildOnly }, { stages });
    const runner = await registerRunner(alone.url, alone.admin, { name: "free" });
    const claimed = runner.claim(AbortSignal.timeout(1_000)).catch(() => null);
    await hook.deliver(merge);
    expect(await claimed).toBeNull();
    const { body } = await hook.deliver(push);
    expect(body).toMatchObject({ status: "merged", code: "duplicate" });
    expect(await tasksOf(alone.admin, hook.projectId)).toMatchObject([
      {
        ref: "refs/heads/main",
        commit: sha("merge"),
        stages: [{ state: "pending" }, { state: "pending" }, { state: "skipped" }],
      },
    ]);
  });
});
