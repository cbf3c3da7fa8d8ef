import { expect, test } from "bun:test";
import { textOf } from "../support/deploy-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { deliverTo } from "../support/hook.ts";

const { server, repository, commit } = await setUpDeploy();

const build =
  'echo "environment=[$CI_ENVIRONMENT] event=$CI_EVENT request=$CI_MERGE_REQUEST target=$CI_TARGET_BRANCH token=$(printenv DEPLOY_TOKEN || true)"';

async function projectWithHook() {
  const id = await server.project(repository.url, { build, deploy: "echo deployed" });
  await server.admin.expect(204, "PUT", `/api/projects/${id}/secrets/DEPLOY_TOKEN`, {
    value: "s3cret-value",
  });
  const { url } = await server.admin.expect<{ url: string }>(200, "PUT", `/api/projects/${id}/webhook`, {
    enabled: true,
    provider: "github",
    events: ["push", "merge_request"],
    allowForks: true,
    mergeRequestActions: { build: true, deploy: false, start: false },
  });
  return { id, url };
}

const pull = (from: string) => ({
  headers: { "x-github-event": "pull_request" },
  payload: {
    action: "opened",
    number: 7,
    pull_request: {
      number: 7,
      head: { ref: "main", sha: commit, repo: { full_name: from } },
      base: { ref: "main", repo: { full_name: "acme/shop" } },
    },
  },
});

async function logOf(taskId: unknown): Promise<string> {
  await server.reach(Number(taskId), "success");
  return textOf(await server.log(Number(taskId)));
}

test("scripts know the event; only a merge request has a number and a target, and it deploys nothing", async () => {
  const { id, url } = await projectWithHook();
  const manual = await server.run(id);
  expect(await logOf(manual.id)).toContain("environment=[] event=manual request= target= token=***");
  const pushed = await deliverTo(url, {
    headers: { "x-github-event": "push" },
    payload: { ref: "refs/heads/main", after: commit },
  });
  expect(await logOf(pushed.body.taskId)).toContain("event=push request= target= token=***");
  const opened = await deliverTo(url, pull("acme/shop"));
  const log = await logOf(opened.body.taskId);
  expect(log).toContain("event=merge_request request=7 target=main token=***");
  expect(log).not.toContain("deployed");
});

test("the build of a fork gets no secrets, nor does a repeat of it", async () => {
  const { url } = await projectWithHook();
  await repository.git("push", "-q", "origin", `${commit}:refs/pull/7/head`);
  const { body } = await deliverTo(url, pull("mallory/shop"));
  expect(await logOf(body.taskId)).toMatch(/event=merge_request request=7 target=main token=$/m);
  const again = await server.admin.expect<{ id: number }>(201, "POST", `/api/tasks/${body.taskId}/rerun`);
  expect(await logOf(again.id)).toMatch(/event=merge_request request=7 target=main token=$/m);
});

test("a task of a delivery without a commit has the message of the commit that is built, not the sender's", async () => {
  const { id, url } = await projectWithHook();
  await server.admin.expect(200, "PUT", `/api/projects/${id}/webhook`, {
    enabled: true,
    provider: "generic",
  });
  const { body } = await deliverTo(url, {
    payload: { event: "push", ref: "refs/heads/main", message: "Something else" },
  });
  await logOf(body.taskId);
  const task = await server.task(Number(body.taskId));
  expect(task.commit).toBe(commit);
  expect(task.message).not.toContain("Something else");
  expect(task.message).not.toBe("");
});
