import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DeployServer, startDeployServer } from "./deploy-server.ts";
import { type GitRepository, makeRepository } from "./git-repository.ts";
import { deliverTo, hmac } from "./hook.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** An installation that contains some of everything that the console shows. */
export interface ConsoleScene {
  server: DeployServer;
  shopId: number;
  /** A task that runs until `finish` is called. */
  runningTaskId: number;
  failedTaskId: number;
  finish(): void;
  /** A signed push to the shop, as GitHub sends it. */
  push(change: { branch?: string; message: string; commit?: string; secret?: string }): Promise<number>;
  close(): Promise<void>;
}

export const hookSecret = "k3vP0xq1nYt8Jr5sW2mZ7uB4cE6hL9aDfGiKoNpQRST";

/** Text of a hostile contributor. */
export const hostile = "<img src=x onerror=\"document.title='owned'\"><b>bold</b>";

const buildScript = `
printf '\\033[1m> shop@2.4.1 build\\033[0m\\n'
printf '\\033[36minfo\\033[0m  bundling 214 modules\\n'
printf '\\033[33mwarn\\033[0m  the setting target is deprecated\\n'
printf '\\033[32m✓\\033[0m built in 1.42 s\\n'`;

const failingScript = `
printf '\\033[1m> ledger@1.0.3 test\\033[0m\\n'
printf '\\033[32mPASS\\033[0m  test/journal.test.ts\\n'
printf '\\033[31mFAIL\\033[0m  test/balance.test.ts\\n'
printf '  \\033[31m✕\\033[0m a transfer keeps the sum\\n'
printf '    expected \\033[32m100\\033[0m, received \\033[31m99.99\\033[0m\\n'
exit 1`;

export async function startScene(): Promise<ConsoleScene> {
  const server = await startDeployServer({ "tasks.concurrency": 4 });
  const gate = temporaryFolder("gate");
  const repository = await makeRepository();
  const commit = await repository.push({ "index.html": "<h1>Shop</h1>" }, { message: "Open the shop" });
  const { admin } = server;
  const shopId = await server.project(
    repository.url,
    {
      build: buildScript,
      deploy: "echo copying dist/ to web-1; echo copying dist/ to web-2",
      start: "echo started",
    },
    { name: "shop", env: { NODE_ENV: "production" } },
  );
  for (const name of ["DEPLOY_KEY", "REGISTRY_PASSWORD_OF_THE_WHOLE_ORGANIZATION"])
    await admin.expect(204, "PUT", `/api/projects/${shopId}/secrets/${name}`, { value: "not to be read" });
  const hook = await admin.expect<{ url: string }>(200, "PUT", `/api/projects/${shopId}/webhook`, {
    enabled: true,
    provider: "github",
    secret: hookSecret,
    events: ["push", "tag"],
    branchFilter: ["main", "release/**"],
    debounceSeconds: 0,
  });
  const push: ConsoleScene["push"] = async (change) => {
    const { branch = "main", message, secret = hookSecret } = change;
    const body = JSON.stringify({
      ref: `refs/heads/${branch}`,
      after: change.commit ?? commit,
      head_commit: { id: change.commit ?? commit, message, modified: ["src/cart.ts"] },
      commits: [{ id: change.commit ?? commit, message, modified: ["src/cart.ts"] }],
      pusher: { name: "ann" },
    });
    const headers = {
      "x-github-event": "push",
      "x-github-delivery": crypto.randomUUID(),
      "x-hub-signature-256": `sha256=${hmac(secret, body)}`,
    };
    return Number((await deliverTo(hook.url, { body, headers })).body.deliveryId);
  };
  const { failedTaskId, runningTaskId } = await fill(server, repository, gate);
  await pushes(server, shopId, push);
  return {
    server,
    shopId,
    failedTaskId,
    runningTaskId,
    finish: () => writeFileSync(join(gate, "open"), ""),
    push,
    async close() {
      writeFileSync(join(gate, "open"), "");
      await server.stop();
      server.remove();
    },
  };
}

/** More projects and users: a failing project, a running one, one with hostile names. */
async function fill(server: DeployServer, repository: GitRepository, gate: string) {
  const { admin } = server;
  const ledgerId = await server.project(repository.url, { build: failingScript }, { name: "ledger" });
  const failed = await server.run(ledgerId);
  await server.reach(failed.id, "failed");
  const waiting = `while [ ! -f ${gate}/open ]; do sleep 0.1; done`;
  const siteId = await server.project(
    repository.url,
    { build: `echo '${hostile}'; echo rendering 1,204 pages; ${waiting}`, deploy: "echo done" },
    { name: "website" },
  );
  const running = await server.run(siteId);
  await server.logged(running.id, "rendering");
  await server.run(siteId);
  await server.project(repository.url, { build: "true" }, { name: hostile });
  for (const username of ["ann", "bo"])
    await admin.expect(201, "POST", "/api/users", { username, password: "a good long sentence" });
  const group = await admin.expect<{ id: number }>(201, "POST", "/api/groups", { name: "Storefront" });
  await admin.expect(200, "PUT", `/api/groups/${group.id}/members/2`, { permission: "manage" });
  await admin.expect(201, "POST", "/api/tokens", { name: "nightly build", scopes: ["read", "write"] });
  await admin.expect(201, "POST", "/api/runners", { name: "build-2", labels: ["linux", "arm64"] });
  return { failedTaskId: failed.id, runningTaskId: running.id };
}

async function pushes(server: DeployServer, shopId: number, push: ConsoleScene["push"]): Promise<void> {
  await push({ message: "Remember the basket between visits" });
  await push({ branch: "try-new-cart", message: "Try a cart without tables" });
  await push({ message: "Fix a typo [skip ci]" });
  await push({ message: "Who sent this?", secret: "not the secret" });
  await push({ branch: hostile, message: hostile });
  const { items } = await server.admin.expect<{ items: { id: number }[] }>(
    200,
    "GET",
    `/api/tasks?projectId=${shopId}`,
  );
  for (const task of items) await server.reach(task.id);
}
