import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { textOf } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { answerOf, type ReleaseAnswer } from "../support/release-scene.ts";
import { setUpReleases } from "../support/releases-setup.ts";

const { server, git, repository, newPort, serviceProject, read, rollback, deploy } = await setUpReleases();

const good = "node built.js &";
/** Healthy at first, and gone by itself after this many seconds. */
const dying = (seconds: number) => `timeout -s KILL ${seconds} node built.js &`;
const crashing = "node -e 'throw new Error(1)' &";

const startWith = (projectId: number, script: string, more = {}) =>
  server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { stages: { start: { script }, ...more } });

const releasesOf = async (projectId: number) =>
  (await server.admin.expect<{ items: ReleaseAnswer[] }>(200, "GET", `/api/projects/${projectId}/releases`))
    .items;

async function endedByItself(projectId: number): Promise<void> {
  await eventually("the project says that it has ended", async () =>
    (await read(projectId)).liveNote.includes("exited within a minute"),
  );
}

describe("a release that ended by itself", () => {
  test("is not rolled back to: the last good one is", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const first = await deploy(projectId, "success", "good");
    await startWith(projectId, dying(3));
    const second = await deploy(projectId, "success", "dies");
    await endedByItself(projectId);
    expect(await releasesOf(projectId)).toMatchObject([
      { taskId: second.task.id, endedAt: expect.any(String) },
      { taskId: first.task.id, endedAt: null },
    ]);
    await startWith(projectId, crashing);
    const third = await deploy(projectId, "failed", "crashes");
    expect(third.task.reason).toStartWith(`${third.short} failed; ${first.short} is serving again.`);
    expect((await answerOf(port)).commit).toBe(first.commit);
    await Bun.sleep(4000);
    expect((await answerOf(port)).commit).toBe(first.commit);
    expect(await read(projectId)).toMatchObject({ liveTaskId: first.task.id });
  }, 40_000);

  test("is not rolled back to if it ended only while the next task was being built", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const first = await deploy(projectId, "success", "good");
    await startWith(projectId, dying(2));
    await deploy(projectId, "success", "dies");
    await startWith(projectId, crashing, { build: { script: "sleep 4; cp server.js built.js" } });
    const third = await deploy(projectId, "failed", "crashes");
    expect(third.task.reason).toStartWith(`${third.short} failed; ${first.short} is serving again.`);
    expect((await answerOf(port)).commit).toBe(first.commit);
  }, 40_000);

  test("is not chosen by a rollback by hand, unless it is named", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const first = await deploy(projectId, "success", "good");
    await startWith(projectId, dying(3));
    const second = await deploy(projectId, "success", "dies");
    await endedByItself(projectId);
    const back = await server.reach((await rollback(projectId)).id, "success");
    expect(back.rollbackTo).toBe(first.task.id);
    expect((await answerOf(port)).commit).toBe(first.commit);
    const refused = await server.admin.request("POST", `/api/projects/${projectId}/rollback`, {});
    expect(refused.status).toBe(409);
    expect(String(refused.text)).toContain("has no earlier release to return to");
    const named = await server.reach((await rollback(projectId, { taskId: second.task.id })).id, "success");
    expect(named.rollbackTo).toBe(second.task.id);
    await endedByItself(projectId);
    const again = await server.reach((await rollback(projectId)).id, "success");
    expect(again.rollbackTo).toBe(first.task.id);
  }, 60_000);

  test("is not started again where no other release exists, and nothing is said to serve", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    await startWith(projectId, dying(2));
    await deploy(projectId, "success", "dies");
    await endedByItself(projectId);
    await startWith(projectId, crashing);
    const second = await deploy(projectId, "failed", "crashes");
    expect(second.task.rollback).toBeNull();
    expect(second.task.reason).not.toContain("serving again");
    expect(await read(projectId)).toMatchObject({ liveTaskId: null });
    await expect(answerOf(port)).rejects.toThrow();
  }, 40_000);

  test("is good again once it serves, until it ends again", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    // The first run ends by itself, the next one stays.
    const mark = join(server.scratch, `ran-${port}`);
    await startWith(projectId, `if [ -f ${mark} ]; then ${good} else touch ${mark}; ${dying(3)} fi`);
    const first = await deploy(projectId, "success", "dies once");
    await endedByItself(projectId);
    await server.reach((await rollback(projectId, { taskId: first.task.id })).id, "success");
    expect(await releasesOf(projectId)).toMatchObject([
      { taskId: first.task.id, isLive: true, endedAt: null },
    ]);
  }, 40_000);
});

test("a service that the deploy script of the next task ends has not ended by itself", async () => {
  const port = newPort();
  const pidFile = join(server.scratch, `pid-${port}`);
  const projectId = await serviceProject(port);
  await startWith(projectId, `node built.js & echo $! >${pidFile}`);
  const first = await deploy(projectId, "success", "good");
  await startWith(projectId, crashing, { deploy: { script: `kill -9 $(cat ${pidFile}); sleep 2` } });
  const second = await deploy(projectId, "failed", "crashes");
  expect(second.task.reason).toStartWith(`${second.short} failed; ${first.short} is serving again.`);
  expect(await releasesOf(projectId)).toMatchObject([{ taskId: first.task.id, endedAt: null }]);
}, 40_000);

describe("what is said to serve", () => {
  /** Answers its first request, the health check, and then does this. */
  const once = (then: string) => `require("node:http").createServer((request, response) => {
  if (global.asked) { response.statusCode = 503; response.end(); return; }
  global.asked = true;
  response.end("ready", () => { ${then} });
}).listen(Number(process.env.LISTEN), "127.0.0.1");`;

  async function restoreOnce(then: string): Promise<void> {
    const port = newPort();
    const projectId = await serviceProject(port);
    await repository.push({ "once.js": once(then) });
    await startWith(projectId, `[ "\${CI_ROLLBACK:-}" ] && cp once.js built.js; ${good}`);
    const first = await deploy(projectId, "success", "serves, but not when it returns");
    await startWith(projectId, crashing);
    const second = await deploy(projectId, "failed", "crashes");
    expect(second.task.rollback).toMatchObject({ state: "failed", taskId: first.task.id });
    expect(second.task.reason).toContain("Nothing is known to be serving");
    expect(await read(projectId)).toMatchObject({ liveTaskId: null });
  }

  test(
    "a restored release that passes its check only once does not serve: the rollback has failed",
    () => restoreOnce(""),
    40_000,
  );

  test(
    "a restored release that exits after its check does not serve: the rollback has failed",
    () => restoreOnce("process.exit(0);"),
    40_000,
  );

  test("a new release that exits while the earlier service is ended does not serve: the earlier one returns", async () => {
    const port = newPort();
    const at = join(server.scratch, `port-${port}`);
    const start = (script: string) => ({
      script: `${script} echo "$PORT" >${at}`,
      previous: "stop-after-healthy",
      healthCheck: { type: "http", url: "http://127.0.0.1:$PORT/", timeoutSeconds: 5 },
    });
    const projectId = await server.project(
      `${git.url}/shop.git`,
      {},
      {
        stages: { start: { ...start("LISTEN=$PORT node server.js &"), switch: "true" } },
      },
    );
    const first = await deploy(projectId, "success", "good");
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
      stages: {
        start: { ...start("LISTEN=$PORT timeout -s KILL 2 node server.js &"), switch: "sleep 3" },
      },
    });
    const second = await deploy(projectId, "failed", "exits during the switch");
    expect(second.task.reason).toStartWith(`${second.short} failed; ${first.short} is serving again.`);
    const { commit, pid } = await answerOf(Number(await Bun.file(at).text()));
    expect(commit).toBe(first.commit);
    process.kill(pid, "SIGKILL");
  }, 40_000);

  test("a release without any check was put back, and nothing says that it serves", async () => {
    const record = join(server.scratch, "put-back.txt");
    const script = `echo "$CI_COMMIT" >>${record}`;
    const projectId = await server.project(`${git.url}/shop.git`, { deploy: script });
    const first = await deploy(projectId, "success");
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
      stages: { deploy: { script: `${script}; exit 1` } },
    });
    const second = await deploy(projectId, "failed");
    expect(second.task.rollback).toMatchObject({ state: "success", taskId: first.task.id });
    expect(second.task.reason).toStartWith(`${second.short} failed; ${first.short} was put back.`);
    expect(second.task.reason).not.toContain("serving");
    expect(textOf(await server.log(second.task.id))).toContain("was put back");
    expect(await Bun.file(record).text()).toBe(`${first.commit}\n${second.commit}\n${first.commit}\n`);
  });
});
