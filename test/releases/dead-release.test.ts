import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { textOf } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { answerOf, type ReleaseAnswer } from "../support/release-scene.ts";
import { setUpReleases, webBeside, webOn } from "../support/releases-setup.ts";

const { server, gitUrl, newPort, serviceProject, change, changeWeb, read, rollback, deploy } =
  await setUpReleases();

/** Healthy at first, and down by itself after this many seconds. */
const dying = (port: number, seconds: number) =>
  webOn(port, { command: `timeout -s KILL ${seconds} node built.js`, restart: "never" });
const crashing = (port: number) => webOn(port, { command: "node -e 'throw new Error(1)'" });

const releasesOf = async (projectId: number) =>
  (await server.admin.expect<{ items: ReleaseAnswer[] }>(200, "GET", `/api/projects/${projectId}/releases`))
    .items;

async function isDown(projectId: number): Promise<void> {
  await eventually(
    "the project says that it is down",
    async () => (await read(projectId)).liveNote.includes("is down"),
    30_000,
  );
}

describe("a release whose service is down", () => {
  test("is not chosen by a rollback by hand, unless it is named", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const first = await deploy(projectId, "success", "good");
    await changeWeb(projectId, dying(port, 3));
    const second = await deploy(projectId, "success", "dies");
    await isDown(projectId);
    expect(await releasesOf(projectId)).toMatchObject([
      { taskId: second.task.id, endedAt: expect.any(String) },
      { taskId: first.task.id, endedAt: null },
    ]);
    const back = await server.reach((await rollback(projectId)).id, "success");
    expect(back.rollbackTo).toBe(first.task.id);
    expect((await answerOf(port)).commit).toBe(first.commit);
    const refused = await server.admin.request("POST", `/api/projects/${projectId}/rollback`, {});
    expect(refused.status).toBe(409);
    expect(String(refused.text)).toContain("has no earlier release to return to");
    const named = await server.reach((await rollback(projectId, { taskId: second.task.id })).id, "success");
    expect(named.rollbackTo).toBe(second.task.id);
    await isDown(projectId);
    const again = await server.reach((await rollback(projectId)).id, "success");
    expect(again.rollbackTo).toBe(first.task.id);
  }, 60_000);

  test("is not rolled back to: the last good one is", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const first = await deploy(projectId, "success", "good");
    await changeWeb(projectId, dying(port, 3));
    await deploy(projectId, "success", "dies");
    await isDown(projectId);
    await changeWeb(projectId, crashing(port));
    const third = await deploy(projectId, "failed", "crashes");
    expect(third.task.reason).toStartWith(`${third.short} failed; ${first.short} is serving again.`);
    expect((await answerOf(port)).commit).toBe(first.commit);
    expect(await read(projectId)).toMatchObject({ liveTaskId: first.task.id });
  }, 60_000);

  test("is not started again where no other release exists, and nothing is said to serve", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    await changeWeb(projectId, dying(port, 2));
    await deploy(projectId, "success", "dies");
    await isDown(projectId);
    await changeWeb(projectId, crashing(port));
    const second = await deploy(projectId, "failed", "crashes");
    expect(second.task.reason).not.toContain("serving again");
    expect(await read(projectId)).toMatchObject({ liveTaskId: null });
    await expect(answerOf(port)).rejects.toThrow();
  }, 60_000);

  test("is good again once it serves", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    // The first run ends by itself, the next one stays.
    const mark = join(server.scratch, `ran-${port}`);
    const command = `[ -f ${mark} ] && exec node built.js; touch ${mark}; timeout -s KILL 3 node built.js`;
    await changeWeb(projectId, webOn(port, { command, restart: "never" }));
    const first = await deploy(projectId, "success", "dies once");
    await isDown(projectId);
    await server.reach((await rollback(projectId, { taskId: first.task.id })).id, "success");
    await eventually("it is good again", async () => (await releasesOf(projectId))[0]?.endedAt === null);
    expect(await releasesOf(projectId)).toMatchObject([{ taskId: first.task.id, isLive: true }]);
  }, 60_000);
});

test("a crash loop of a new release is rolled back by the server, once", async () => {
  const port = newPort();
  const projectId = await serviceProject(port);
  const first = await deploy(projectId, "success", "good");
  await changeWeb(projectId, webOn(port, { command: "timeout -s KILL 2 node built.js" }));
  const second = await deploy(projectId, "success", "ends again and again");
  await eventually(
    "the good one serves again",
    async () => (await answerOf(port).catch(() => null))?.commit === first.commit,
    90_000,
  );
  const { items } = await server.admin.expect<{ items: { id: number; rollbackTo: number | null }[] }>(
    200,
    "GET",
    `/api/tasks?projectId=${projectId}`,
  );
  const rollbacks = items.filter(({ id }) => id > second.task.id);
  expect(rollbacks).toMatchObject([{ rollbackTo: first.task.id }]);
  const [{ id } = { id: 0 }] = rollbacks;
  await server.reach(id, "success");
  expect(textOf(await server.log(id))).toContain("web");
  expect(await read(projectId)).toMatchObject({ liveTaskId: id });
}, 120_000);

describe("what is said to serve", () => {
  /** Answers its first request, the check, and then does this. */
  const once = (then: string) => `require("node:http").createServer((request, response) => {
  if (global.asked) { response.statusCode = 503; response.end(); return; }
  global.asked = true;
  response.end("ready", () => { ${then} });
}).listen(Number(process.env.LISTEN), "127.0.0.1");`;

  test("a new release that exits while its switch runs does not serve: the earlier one was never touched", async () => {
    const at = join(server.scratch, "switched-port");
    const projectId = await server.project(
      gitUrl,
      {},
      { pipeline: { start: { web: webBeside({ switch: `echo "$PORT" >${at}` }) } } },
    );
    const first = await deploy(projectId, "success", "good");
    const { pid } = await answerOf(Number(await Bun.file(at).text()));
    const command = "LISTEN=$PORT timeout -s KILL 2 node server.js";
    await changeWeb(projectId, webBeside({ command, switch: `echo "$PORT" >${at}; sleep 3` }));
    const second = await deploy(projectId, "failed", "exits during the switch");
    expect(second.task.reason).toStartWith(`${second.short} failed; ${first.short} is serving again.`);
    // The proxy points to the earlier one again.
    expect(await answerOf(Number(await Bun.file(at).text()))).toMatchObject({ commit: first.commit, pid });
  }, 60_000);

  test("a restored service that exits after its check does not serve: nothing is called live", async () => {
    const port = newPort();
    const mark = join(server.scratch, `restored-${port}`);
    const script = join(server.scratch, `once-${port}.js`);
    await Bun.write(script, once("process.exit(0);"));
    const command = `[ -f ${mark} ] && exec node ${script}; touch ${mark}; exec node built.js`;
    const projectId = await serviceProject(port);
    await changeWeb(projectId, webOn(port, { command, restart: "never" }));
    await deploy(projectId, "success", "serves, but not when it returns");
    await changeWeb(projectId, crashing(port));
    await deploy(projectId, "failed", "crashes");
    await isDown(projectId);
    expect(await read(projectId)).toMatchObject({ liveTaskId: null });
  }, 60_000);

  test("a release without services and checks was put back, and nothing says that it serves", async () => {
    const record = join(server.scratch, "put-back.txt");
    const script = `echo "$CI_COMMIT" >>${record}`;
    const projectId = await server.project(gitUrl, { deploy: script });
    const first = await deploy(projectId, "success");
    await change(projectId, { pipeline: { deploy: [{ script: `${script}; exit 1` }] } });
    const second = await deploy(projectId, "failed");
    expect(second.task.rollback).toMatchObject({ state: "success", taskId: first.task.id });
    expect(second.task.reason).toStartWith(`${second.short} failed; ${first.short} was put back.`);
    expect(second.task.reason).not.toContain("serving");
    expect(textOf(await server.log(second.task.id))).toContain("was put back");
    expect(await Bun.file(record).text()).toBe(`${first.commit}\n${second.commit}\n${first.commit}\n`);
  });

  test("a release whose step has a check is said to serve again", async () => {
    const check = { command: "true", within: 5 };
    const projectId = await server.project(gitUrl, {}, { pipeline: { start: [{ script: "true", check }] } });
    const first = await deploy(projectId, "success");
    await change(projectId, { pipeline: { start: [{ script: "exit 1", check }] } });
    const second = await deploy(projectId, "failed");
    expect(second.task.reason).toStartWith(`${second.short} failed; ${first.short} is serving again.`);
  });
});
