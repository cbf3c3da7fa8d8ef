import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { buildCli } from "../support/cli.ts";
import { startDeployServer } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { serveGit } from "../support/git-http-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { atStart, found, often, scene, type Webhook, withRunner } from "../support/poll-scene.ts";
import { openServerFile } from "../support/server-file.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describe("a push that no delivery reported", () => {
  test("while the server was down: it is deployed after the server returns", async () => {
    const at = await scene({ ...atStart, ...withRunner });
    await at.server().stop();
    await at.start();
    await eventually("the first poll has ended", async () => (await at.webhook()).poll?.lastAt !== null);
    expect(await at.deliveries()).toEqual([]);
    await at.server().stop();
    const commit = await at.repository.push({ "app.txt": "two\n" }, { message: "Sell pears" });
    await at.start();
    const delivery = await found(at, commit);
    expect(delivery).toMatchObject({
      status: "accepted",
      remote_ip: "poll",
      provider: "gitea",
      ref: "main",
      commit_message: "Sell pears",
      author: "Ann",
    });
    const task = await at.server().reach(delivery.task_id, "success");
    expect(task.commit).toBe(commit);
    const { trace } = await at
      .server()
      .admin.expect<{ trace: { step: string; detail: string }[] }>(
        200,
        "GET",
        `/api/webhooks/deliveries/${delivery.id}`,
      );
    expect(trace[0]?.step).toBe("poll");
    expect(trace.map(({ step }) => step)).toContain("branch");
  });

  test("the first poll builds nothing; later ones find new branches and force pushes, and each once", async () => {
    const at = await scene();
    await at.polled();
    expect(await at.tasks()).toEqual([]);
    const side = await at.repository.push({ "side.txt": "1" }, { branch: "side" });
    await found(at, side);
    await at.repository.git("commit", "--amend", "-q", "-m", "Amended");
    await at.repository.git("push", "-q", "--force", "origin", "HEAD:refs/heads/side");
    const amended = await at.repository.git("rev-parse", "HEAD");
    await found(at, amended);
    await at.polled();
    expect((await at.deliveries()).map(({ commit }) => commit)).toEqual([amended, side]);
  });

  test("rate-limited: the poll builds what the limit refused", async () => {
    const at = await scene({ "webhook.limitPerMinute": 1 });
    await at.polled();
    await at.stopPolling();
    expect(await at.send(await at.repository.push({ a: "1" }))).toMatchObject({ status: "accepted" });
    const refused = await at.repository.push({ a: "2" });
    const answer = await at.send(refused);
    if (answer.code !== "rate_limited") throw new Error(`not limited: ${answer.code}`);
    await at.server().stop();
    await at.start();
    await eventually("the refused push is built", async () =>
      (await at.deliveries()).some(({ commit, remote_ip }) => commit === refused && remote_ip === "poll"),
    );
    await at.polled();
    expect((await at.tasks()).filter(({ commit }) => commit === refused)).toHaveLength(1);
  });
});

describe("a push that is found by both", () => {
  test("reported first: the poll finds nothing new", async () => {
    const at = await scene();
    await at.polled();
    await at.stopPolling();
    const commit = await at.repository.push({ a: "1" });
    expect(await at.send(commit)).toMatchObject({ status: "accepted" });
    await at.server().stop();
    await at.start();
    await at.polled();
    expect(await at.deliveries()).toHaveLength(1);
    expect(await at.tasks()).toHaveLength(1);
  });

  test("polled first: the host's delivery is merged into the poll's task, and only once", async () => {
    const at = await scene();
    await at.polled();
    const commit = await at.repository.push({ a: "1" });
    const { task_id } = await found(at, commit);
    expect(await at.send(commit)).toMatchObject({
      status: "merged",
      code: "duplicate",
      mergedIntoTaskId: task_id,
    });
    expect(await at.tasks()).toHaveLength(1);
    expect(await at.send(commit)).toMatchObject({ status: "accepted" });
  });

  test("polled first, and the poll's task failed: the host's delivery starts another", async () => {
    const at = await scene(withRunner);
    await at.polled();
    const stages = { build: { script: "false" } };
    await at.server().admin.expect(200, "PATCH", `/api/projects/${at.project}`, { stages });
    const commit = await at.repository.push({ a: "1" });
    const { task_id } = await found(at, commit);
    await at.server().reach(task_id, "failed");
    expect(await at.send(commit)).toMatchObject({ status: "accepted" });
  });

  test("polled first, and the poll's task took over another ref: the host's delivery is not called built", async () => {
    const at = await scene({}, { debounceSeconds: 60 });
    await at.polled();
    await at.stopPolling();
    const [refs, commits]: [string[], string[]] = [["refs/heads/dev", "refs/heads/main"], []];
    for (const branch of ["dev", "main"]) commits.push(await at.repository.push({ a: branch }, { branch }));
    await at.server().stop();
    await at.start();
    for (const commit of commits) await found(at, commit);
    const [task] = await at.tasks();
    const displaced = commits.findIndex((commit) => commit !== task?.commit);
    expect(await at.send(commits[displaced] ?? "", refs[displaced])).toMatchObject({ code: "debounced" });
  });

  test("an older push that is replayed does not make the newer one a new push", async () => {
    const at = await scene();
    await at.polled();
    await at.stopPolling();
    const [first, second] = [await at.repository.push({ a: "1" }), await at.repository.push({ a: "2" })];
    await at.send(first);
    await at.send(second);
    const old = (await at.deliveries()).find(({ commit }) => commit === first);
    await at.server().admin.expect(202, "POST", `/api/webhooks/deliveries/${old?.id}/replay`, {});
    const count = (await at.tasks()).length;
    await at.server().stop();
    await at.start();
    await at.polled();
    expect(await at.tasks()).toHaveLength(count);
  });

  test("a sender without commits: the poll does not build again what it reported", async () => {
    const at = await scene({}, { provider: "generic" });
    await at.polled();
    await at.stopPolling();
    await at.repository.push({ a: "1" });
    const { url } = await at.webhook();
    await fetch(at.server().url + new URL(url).pathname, {
      method: "POST",
      body: '{"event":"push","ref":"main"}',
    });
    await at.server().stop();
    await at.start();
    await at.polled();
    expect(await at.tasks()).toHaveLength(1);
  });
});

describe("filters", () => {
  test("branches, paths and the keyword apply; what they stop leaves no record", async () => {
    const at = await scene({}, { branchFilter: ["main"], pathFilter: ["src/**"] });
    await at.polled();
    await at.repository.push({ "docs/b": "1" }, { branch: "other" });
    await at.repository.push({ "README.md": "1" });
    await at.polled();
    await at.repository.push({ "src/c": "1" }, { message: "Quiet [skip ci]" });
    await at.polled();
    expect(await at.deliveries()).toEqual([]);
    const commit = await at.repository.push({ "src/d": "1" });
    expect(await found(at, commit)).toMatchObject({ status: "accepted" });
    expect(await at.deliveries()).toHaveLength(1);
  });

  test("tags follow the tag filter, annotated ones with their commit", async () => {
    const at = await scene({}, { events: ["tag"], tagFilter: ["v*"] });
    await at.polled();
    const commit = await at.repository.push({ a: "1" });
    await at.repository.git("tag", "test-1");
    await at.repository.git("tag", "-a", "v1", "-m", "One");
    await at.repository.git("push", "-q", "origin", "test-1", "v1");
    expect(await found(at, commit)).toMatchObject({ ref: "v1", ref_type: "tag" });
    await at.polled();
    expect(await at.deliveries()).toHaveLength(1);
  });

  test("a wider filter does not build branches that were there before", async () => {
    const at = await scene({}, { branchFilter: ["main"] });
    await at.repository.push({ b: "1" }, { branch: "other" });
    await at.polled();
    await at.server().admin.expect(200, "PUT", at.hook, { branchFilter: [] });
    await at.polled();
    expect(await at.deliveries()).toEqual([]);
    const commit = await at.repository.push({ b: "2" }, { branch: "other" });
    await found(at, commit);
  });

  test("a deleted branch is forgotten; made again, it is new", async () => {
    const at = await scene();
    const commit = await at.repository.push({ b: "1" }, { branch: "side" });
    await at.polled();
    await at.repository.git("push", "-q", "origin", ":refs/heads/side");
    await at.polled();
    await at.repository.git("push", "-q", "origin", `${commit}:refs/heads/side`);
    expect(await found(at, commit)).toMatchObject({ ref: "side" });
  });
});

describe("nothing is built", () => {
  test("of what was pushed while the webhook was disabled", async () => {
    const at = await scene();
    await at.polled();
    await at.server().admin.expect(200, "PUT", at.hook, { enabled: false });
    expect((await at.webhook()).poll).toBeNull();
    await at.repository.push({ a: "1" });
    await Bun.sleep(1500); // Time enough for a poll, which must not take place.
    await at.server().admin.expect(200, "PUT", at.hook, { enabled: true });
    await at.polled();
    expect(await at.tasks()).toEqual([]);
  });

  test("with webhook.reconcileMinutes 0, also after it is set again", async () => {
    const at = await scene();
    await at.polled();
    await at.server().stop();
    await at.repository.push({ a: "1" });
    await at.start({ "webhook.reconcileMinutes": 0 });
    expect((await at.webhook()).poll).toBeNull();
    await at.server().stop();
    await at.start();
    await at.polled();
    expect(await at.tasks()).toEqual([]);
  });

  test("by the first poll after an upgrade, which says what it passed over", async () => {
    const at = await scene();
    await at.polled();
    await at.server().stop();
    const file = openServerFile(at.dataDir);
    file.run("update polls set version = '0.0.1'");
    file.close();
    await at.repository.push({ a: "1" });
    await at.start(atStart);
    await eventually("the poll has ended", async () => ((await at.webhook()).poll?.note ?? "") !== "");
    expect((await at.webhook()).poll?.note).toContain("after an upgrade");
    expect((await at.webhook()).poll?.note).toContain("refs/heads/main");
    expect(await at.tasks()).toEqual([]);
  });

  test("by the first poll after a restore", async () => {
    const at = await scene();
    await at.polled();
    const copy = temporaryFolder("copy");
    const backup = join(copy, "backup");
    const target = join(copy, "data");
    expect(await buildCli({})(["backup", backup, "--data-dir", at.dataDir])).toMatchObject({ exitCode: 0 });
    await at.server().stop();
    await at.repository.push({ a: "1" });
    expect(await buildCli({})(["restore", backup, "--data-dir", target])).toMatchObject({ exitCode: 0 });
    const restored = await startDeployServer(often, target);
    try {
      const poll = async () => (await restored.admin.expect<Webhook>(200, "GET", at.hook)).poll;
      await eventually("a poll has ended", async () => ((await poll())?.lastAt ?? null) !== null);
      await Bun.sleep(2500); // Time enough for more polls, which must not build it either.
      const list = await restored.admin.expect<{ total: number }>(200, "GET", "/api/tasks");
      expect(list.total).toBe(0);
    } finally {
      await restored.stop();
    }
    await at.start();
    await eventually("the original builds it", async () => (await at.tasks()).length === 1);
  });

  test("of another repository, when the address of the project changes", async () => {
    const at = await scene();
    await at.polled();
    const other: GitRepository = await makeRepository();
    await other.push({ a: "1" });
    await at.server().admin.expect(200, "PATCH", `/api/projects/${at.project}`, { git: { url: other.url } });
    await at.polled();
    expect(await at.tasks()).toEqual([]);
    const commit = await other.push({ a: "2" });
    await found(at, commit);
  });
});

describe("a repository that asks for a credential", () => {
  test("is polled with the project's; without it the error is shown, and logged once", async () => {
    const bare = await makeRepository();
    await bare.push({ a: "1" });
    const token = `secret-${crypto.randomUUID()}`;
    const host = serveGit(join(bare.url, ".."), { username: "bot", token });
    const at = await scene({}, {}, `${host.url}/shop.git`);
    await at.polled();
    const { poll, warnings } = await at.webhook();
    expect(poll?.error).toContain("git could not list the branches and tags");
    expect(poll).toMatchObject({ errorParts: [{ code: "git_refs" }], noteParts: [] });
    expect(warnings.join()).toContain("could not be polled");
    await at.polled();
    const lines = at.server().logLines.filter((line) => line.includes("a repository could not be polled"));
    expect(lines).toHaveLength(1);
    const credential = { type: "token", username: "bot", token };
    await at.server().admin.expect(204, "PUT", `/api/projects/${at.project}/credential`, credential);
    await eventually("the poll succeeds", async () => (await at.webhook()).poll?.error === "");
    const commit = await bare.push({ a: "2" });
    expect(await found(at, commit)).toMatchObject({ status: "accepted" });
    expect(at.server().logLines.join("\n")).not.toContain(token);
    await eventually(
      "the poll has removed its files",
      () => readdirSync(join(at.dataDir, "poll")).length === 0,
    );
    await at.server().stop();
    expect(existsSync(join(at.dataDir, "poll"))).toBe(false);
    await at.start();
    host.stop();
  });
});
