import { expect, test } from "bun:test";
import { join } from "node:path";
import { finishPoll } from "../../src/webhook/poll/poll-operations.ts";
import { makeSqlite } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { serveGit } from "../support/git-http-server.ts";
import { makeRepository } from "../support/git-repository.ts";
import { startHookServer } from "../support/hook-server.ts";
import { atStart, found, scene } from "../support/poll-scene.ts";
import { sampleProject } from "../support/samples.ts";
import { runOf } from "../support/store-setup.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("before the first poll that succeeds, a push after a reported one is found, at once when the credential is stored", async () => {
  const token = `secret-${crypto.randomUUID()}`;
  const repository = await makeRepository();
  const host = serveGit(join(repository.url, ".."), { username: "bot", token });
  await repository.push({ a: "1" }, { branch: "other" });
  const reported = await repository.push({ a: "1" }, { branch: "main" });
  const at = await scene(atStart, {}, `${host.url}/shop.git`);
  await at.server().stop();
  await at.start();
  await eventually("the first poll has failed", async () => (await at.webhook()).poll?.error !== "");
  expect(await at.send(reported)).toMatchObject({ status: "accepted" });
  const failedAt = (await at.webhook()).poll?.lastAt;
  await at.server().stop();
  const missed = await repository.push({ a: "2" }, { branch: "main" });
  await at.start();
  await eventually("the poll has failed again", async () => (await at.webhook()).poll?.lastAt !== failedAt);
  expect((await at.webhook()).poll?.error).not.toBe("");
  const credential = { type: "token", username: "bot", token };
  await at.server().admin.expect(204, "PUT", `/api/projects/${at.project}/credential`, credential);
  expect(await found(at, missed)).toMatchObject({ status: "accepted", remote_ip: "poll", ref: "main" });
  // The branch that no delivery named is not built.
  expect((await at.deliveries()).map(({ commit }) => commit)).toEqual([missed, reported]);
  host.stop();
});

test("a credential that is stored while a poll waits for the host is used at once", async () => {
  const credential = { type: "token", username: "bot", token: `secret-${crypto.randomUUID()}` };
  const repository = await makeRepository();
  await repository.push({ a: "1" });
  const git = serveGit(join(repository.url, ".."), credential);
  let [waiting, sentWith] = [0, 0];
  const isOver = Promise.withResolvers<void>();
  const host = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      // Without a credential the host takes its time: the first poll is still under way.
      if (sentWith === 0 && waiting++ === 0) await isOver.promise;
      if (request.headers.has("authorization")) {
        if (sentWith++ === 0) isOver.resolve();
        await Bun.sleep(300); // The first poll, which is refused now, ends before the second.
      }
      return fetch(`${git.url}${pathname}${search}`, request);
    },
  });
  const at = await scene(atStart, {}, `${host.url.origin}/shop.git`);
  await at.server().stop();
  await at.start();
  await eventually("the first poll waits", () => waiting > 0);
  await at.server().admin.expect(204, "PUT", `/api/projects/${at.project}/credential`, credential);
  await eventually("a poll has ended", async () => (await at.webhook()).poll?.lastAt != null);
  expect((await at.webhook()).poll).toMatchObject({ error: "" });
  isOver.resolve();
  host.stop(true);
  git.stop();
});

test("a credential that is stored while a poll stores its result makes the next poll due at once", async () => {
  const database = await makeSqlite();
  const store = await database.open();
  const [isStoring, mayStore] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let polls = 0;
  const run = runOf(async (operation, input, lock) => {
    if (operation === finishPoll && ++polls === 1) {
      isStoring.resolve();
      await mayStore.promise;
    }
    return store.run(operation, input, lock);
  });
  const settings = { "webhook.reconcileMinutes": 600, "data.dir": temporaryFolder("poll") };
  const server = await startHookServer({ ...store, run }, settings);
  const git = { url: "/nowhere/shop.git", ref: "main", submodules: false };
  const { id } = await store.projects.create(sampleProject({ git }));
  await server.part.management.save(id, { enabled: true }, () => null);
  await server.part.start();
  await isStoring.promise;
  await server.part.pollNow(id);
  mayStore.resolve();
  await eventually("the project is polled again", () => polls === 2);
  await server.stop();
  await database.remove();
});

test("before the first poll that succeeds, a push that was reported for another repository is no base", async () => {
  const [first, second] = [await makeRepository(), await makeRepository()];
  const reported = await first.push({ a: "1" });
  await second.push({ a: "another" });
  const token = { username: "bot", token: crypto.randomUUID() };
  const host = serveGit(join(first.url, ".."), token);
  const at = await scene({}, {}, `${host.url}/shop.git`);
  expect(await at.send(reported)).toMatchObject({ status: "accepted" });
  await at.server().admin.expect(200, "PATCH", `/api/projects/${at.project}`, { git: { url: second.url } });
  await at.polled();
  expect(await at.deliveries()).toHaveLength(1);
  host.stop();
});
