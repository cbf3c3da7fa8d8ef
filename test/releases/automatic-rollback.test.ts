import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { textOf } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { isAlive } from "../support/process-watch.ts";
import { answerOf } from "../support/release-scene.ts";
import { setUpReleases, webBeside, webOn } from "../support/releases-setup.ts";

const { server, gitUrl, notifications, newPort, serviceProject, change, changeWeb, read, rollback, deploy } =
  await setUpReleases();

/** A step that may change what only the runner may change. */
const host = true;
/** Makes the state of the workspace unwritable, as a full disk does: a folder is in the way, and nothing fits in its place. */
const blockState = 'mkdir "$CI_WORKSPACE/../state.json.new"; : >"$CI_WORKSPACE/../state.json"';

test("a rollback that cannot be recorded is still a success, because its release was put back", async () => {
  const script = `[ -z "\${CI_ROLLBACK:-}" ] || { ${blockState}; }`;
  const pipeline = { deploy: [{ script, host }] };
  const projectId = await server.project(gitUrl, {}, { pipeline });
  const first = await deploy(projectId, "success");
  await change(projectId, { pipeline: { deploy: [{ script: "exit 3" }] } });
  const second = await deploy(projectId, "failed");
  expect(second.task.rollback).toMatchObject({ state: "success", taskId: first.task.id });
  expect(textOf(await server.log(second.task.id))).toContain("[the runner could not record the rollback: ");
});

test("a runner that cannot read the state of another workspace still restores the previous release", async () => {
  const record = join(server.scratch, "deployed.txt");
  const script = `echo "$CI_COMMIT" >>${record}`;
  const projectId = await server.project(gitUrl, { deploy: script });
  const first = await deploy(projectId, "success");
  // A folder in the place of the file cannot be read, as when too many files are open.
  const unreadable = 'mkdir -p "$CI_WORKSPACE/../../other/state.json"';
  await change(projectId, {
    pipeline: { deploy: [{ script: `${script}; ${unreadable}; exit 1`, host }] },
  });
  const second = await deploy(projectId, "failed");
  expect(second.task.rollback).toMatchObject({ state: "success", taskId: first.task.id });
  expect(second.task.reason).toEndWith("deploy failed with exit code 1");
  expect(await Bun.file(record).text()).toBe(`${first.commit}\n${second.commit}\n${first.commit}\n`);
});

describe("the previous services come back by themselves", () => {
  test("when the new one cannot start, or its check fails; a failed deploy script has not touched them", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const first = await deploy(projectId, "success");
    const { pid } = await answerOf(port);
    const deployScript = (script: string) => ({ pipeline: { deploy: [{ script }] } });
    const failures = [
      {
        name: "a working folder that does not exist",
        body: { pipeline: { start: { web: webOn(port, { directory: "not-there" }) } } },
        state: "success",
        said: "is serving again",
      },
      {
        name: "a failing check",
        body: {
          pipeline: { start: { web: webOn(port, { check: { http: "/", expect: "never", within: 1 } }) } },
        },
        state: "success",
        said: "is serving again",
      },
      {
        name: "a failing deploy",
        body: deployScript("echo half done; exit 3"),
        state: "unneeded",
        said: "is still serving",
      },
    ];
    for (const { name, body, state, said } of failures) {
      await change(projectId, body);
      const second = await deploy(projectId, "failed", name);
      const text = `${second.short} failed; ${first.short} ${said}.`;
      expect(second.task.reason, name).toStartWith(text);
      expect(second.task.rollback, name).toMatchObject({ state, taskId: first.task.id });
      expect(await read(projectId), name).toMatchObject({ liveTaskId: first.task.id });
      expect((await answerOf(port)).commit, name).toBe(first.commit);
      const { body: told } = await notifications.event(second.task.id, "task.failed");
      expect(told, name).toContain(text);
      await change(projectId, deployScript(""));
      await changeWeb(projectId, webOn(port));
    }
    // It had to end first: a fixed port has room for one.
    expect(isAlive(pid)).toBe(false);
  });

  test("with the command, variables and secrets that they ran with", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const secret = (value: string) =>
      server.admin.expect(204, "PUT", `/api/projects/${projectId}/secrets/TOKEN`, { value });
    await secret("old-secret");
    const first = await deploy(projectId, "success");
    await secret("new-secret");
    await change(projectId, { env: { LISTEN: "1" } });
    const second = await deploy(projectId, "failed");
    expect(second.task.reason).toContain(`${first.short} is serving again`);
    expect(await answerOf(port)).toMatchObject({ commit: first.commit, secret: "old-secret" });
  });

  test("a return that fails is reported and not repeated, and nothing is called live", async () => {
    const port = newPort();
    const broken = join(server.scratch, `broken-${port}`);
    const projectId = await serviceProject(port, {
      pipeline: { start: { web: webOn(port, { command: `[ ! -f ${broken} ] && node server.js` }) } },
    });
    const first = await deploy(projectId, "success");
    await Bun.write(broken, "");
    const second = await deploy(projectId, "failed");
    expect(second.task.reason).toStartWith(
      `${second.short} failed, and so did the rollback to ${first.short}: the service web ended by itself (1)`,
    );
    expect(second.task.reason).toContain("Nothing is known to be serving.");
    expect(second.task.rollback).toMatchObject({ state: "failed" });
    expect(await read(projectId)).toMatchObject({ liveTaskId: null });
    await expect(answerOf(port)).rejects.toThrow();
    const starts = textOf(await server.log(second.task.id)).match(/rolling back/gi) ?? [];
    expect(starts).toHaveLength(1);
    rmSync(broken);
    const back = await rollback(projectId);
    await server.reach(back.id, "success");
    expect((await answerOf(port)).commit).toBe(first.commit);
    expect(await read(projectId)).toMatchObject({ liveTaskId: back.id, liveNote: "" });
  });

  test("also where rollback is off, because a failed start must not end what serves; a failed build changes nothing", async () => {
    const port = newPort();
    const projectId = await serviceProject(port, { rollback: "off" });
    const first = await deploy(projectId, "success");
    const serves = async () => {
      await eventually(
        "the first release is live",
        async () => (await read(projectId)).liveTaskId === first.task.id,
      );
      expect((await answerOf(port)).commit).toBe(first.commit);
    };
    await change(projectId, { pipeline: { build: [{ script: "exit 1" }] } });
    await deploy(projectId, "failed");
    await serves();
    await change(projectId, {
      pipeline: { build: [{ script: "true" }], start: { web: webOn(port, { command: "exit 1" }) } },
    });
    const third = await deploy(projectId, "failed");
    expect(third.task.rollback).toBeNull();
    await serves();
  });

  test("a deploy whose script never ran leaves them alone", async () => {
    const port = newPort();
    const record = join(server.scratch, `deployed-${port}.txt`);
    const projectId = await serviceProject(port);
    await change(projectId, { pipeline: { deploy: [{ script: `echo "$CI_COMMIT" >>${record}` }] } });
    const first = await deploy(projectId, "success");
    const before = await answerOf(port);
    await change(projectId, { pipeline: { deploy: [{ script: "true", directory: "not-there" }] } });
    const second = await deploy(projectId, "failed");
    expect(second.task.reason).toStartWith(`${second.short} failed; ${first.short} is still serving.`);
    expect(second.task.reason).toContain("The folder not-there of deploy does not exist");
    expect(await Bun.file(record).text()).toBe(`${first.commit}\n`);
    expect((await answerOf(port)).pid).toBe(before.pid);
    expect(await read(projectId)).toMatchObject({ liveTaskId: first.task.id });
  });

  test("on $PORT they never stop", async () => {
    const at = join(server.scratch, "beside-port");
    const command = `[ -f ${at} ] || echo "$PORT" >${at}; LISTEN=$PORT exec node server.js`;
    const projectId = await server.project(
      gitUrl,
      {},
      { pipeline: { start: { web: webBeside({ command }) } } },
    );
    const first = await deploy(projectId, "success");
    const port = Number(await Bun.file(at).text());
    const before = await answerOf(port);
    await changeWeb(projectId, webBeside({ command: "exit 9" }));
    const second = await deploy(projectId, "failed");
    expect(second.task.reason).toStartWith(`${second.short} failed; ${first.short} is still serving.`);
    expect(await answerOf(port)).toMatchObject({ commit: first.commit, pid: before.pid });
    expect(await read(projectId)).toMatchObject({ liveTaskId: first.task.id });
  });
});
