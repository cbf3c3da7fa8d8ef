import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { serveGit } from "../support/git-http-server.ts";
import { deliveriesOf } from "../support/hook.ts";

const { server, repository } = await setUpDeploy();
const git = serveGit(join(repository.url, ".."), null);
afterAll(() => git.stop());
let files = 0;

/** A project of the served repository, whose deploys are noted, and the address of its webhook. */
async function projectWith(webhook: object) {
  const file = join(server.scratch, `deployed-by-host-${++files}`);
  const id = await server.project(`${git.url}/shop.git`, {
    build: 'echo "built $CI_COMMIT"',
    deploy: `echo "$CI_REF_NAME $CI_COMMIT" >> ${file}`,
  });
  const { url } = await server.admin.expect<{ url: string }>(200, "PUT", `/api/projects/${id}/webhook`, {
    enabled: true,
    provider: "gitea",
    debounceSeconds: 0,
    ...webhook,
  });
  const deployed = () => {
    try {
      // The shell creates the file before it writes the line.
      return readFileSync(file, "utf8").split("\n").filter(Boolean).sort();
    } catch {
      return [];
    }
  };
  return { id, url, deployed };
}

/** The host calls the webhook once for each pushed branch, as Gitea does. */
const announceBy = (url: string) =>
  repository.hook(
    "post-receive",
    `while read old new ref; do
      curl -sS -H 'content-type: application/json' -H 'x-gitea-event: push' -H "x-gitea-delivery: $new-$ref" \\
        --data "{\\"ref\\": \\"$ref\\", \\"before\\": \\"$old\\", \\"after\\": \\"$new\\", \\"pusher\\": {\\"login\\": \\"ann\\"}, \\"commits\\": []}" '${url}' >/dev/null
    done`,
  );

/** Commits on both branches, which one push sends. */
async function pushBoth(): Promise<{ main: string; other: string }> {
  await repository.git("checkout", "-q", "-B", "other");
  await repository.git("commit", "-q", "--allow-empty", "-m", "On other");
  const other = await repository.git("rev-parse", "HEAD");
  await repository.git("checkout", "-q", "main");
  await repository.git("commit", "-q", "--allow-empty", "-m", "On main");
  const main = await repository.git("rev-parse", "HEAD");
  await repository.git("push", "-q", "-f", "origin", "main", "other");
  return { main, other };
}

const outcomes = async (projectId: number) =>
  (await deliveriesOf(server.admin, projectId)).map(({ ref, code }) => `${ref} ${code}`).sort();

test("`git push origin main other`: with a branch filter one is deployed, and the other's record says why it is not", async () => {
  const { id, url, deployed } = await projectWith({ branchFilter: ["main"] });
  announceBy(url);
  const { main } = await pushBoth();
  await eventually("main is deployed", () => deployed().length === 1);
  expect(deployed()).toEqual([`main ${main}`]);
  expect(await outcomes(id)).toEqual(["main accepted", "other branch_not_matched"]);
});

test("`git push origin main other`: with a window for each ref both are deployed, each at its own commit", async () => {
  const { id, url, deployed } = await projectWith({ debounceScope: "ref", debounceSeconds: 1 });
  announceBy(url);
  const { main, other } = await pushBoth();
  await eventually("both are deployed", () => deployed().length === 2);
  expect(deployed()).toEqual([`main ${main}`, `other ${other}`]);
  expect(await outcomes(id)).toEqual(["main accepted", "other accepted"]);
});

test("an opened merge request is built at its commit and deploys nothing", async () => {
  repository.hook("post-receive", "exit 0");
  const buildOnly = { build: true, deploy: false, start: false };
  const { url, deployed } = await projectWith({
    events: ["push", "merge_request"],
    mergeRequestActions: buildOnly,
  });
  await repository.git("checkout", "-q", "-B", "pears");
  const head = await repository.push({ "pears.txt": "pears\n" }, { branch: "pears" });
  await repository.git("push", "-q", "origin", "HEAD:refs/pull/7/head");
  const repo = { full_name: "ann/shop", clone_url: `${git.url}/shop.git` };
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "x-gitea-event": "pull_request" },
    body: JSON.stringify({
      action: "opened",
      number: 7,
      pull_request: {
        number: 7,
        title: "Sell pears",
        user: { login: "ann" },
        head: { ref: "pears", sha: head, repo },
        base: { ref: "main", repo },
      },
      repository: repo,
      sender: { login: "ann" },
    }),
  });
  const { taskId } = (await response.json()) as { taskId: number };
  const task = await server.reach(taskId, "success");
  expect(task).toMatchObject({ commit: head, source: { event: "merge_request", mergeRequest: "7" } });
  expect(task.stages.map(({ state }) => state)).toEqual(["success", "skipped", "skipped"]);
  await server.logged(taskId, `built ${head}`);
  expect(deployed()).toEqual([]);
});
