import { describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { messageOf } from "../../src/errors.ts";
import { completePipeline, pipelineBody } from "../../src/model/pipeline.ts";
import type { RunTask } from "../../src/runner/protocol.ts";
import { version } from "../../src/version.ts";
import { setUpProtocol } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { registerRunner } from "../support/protocol-runner.ts";
import { sampleScripts, sampleUrl, startProtocolScene, wireLines } from "../support/protocol-scene.ts";

const scene = await setUpProtocol({ "tasks.logMaxBytes": 1000 });

test("a part of a transfer has a number", async () => {
  const url = `${scene.server.url}/api/runner/transfer-sent/any/`;
  const headers = { authorization: `Bearer ${scene.runner.token}` };
  const statusOf = async (part: string) =>
    (await fetch(`${url}${part}`, { method: "PUT", headers, body: "x" })).status;
  expect([await statusOf("0"), await statusOf("NaN"), await statusOf("-1")]).toEqual([200, 422, 422]);
});

describe("the one instruction", () => {
  test("carries the task, its fencing token and the project's stages, environment and limits", async () => {
    const held = await scene.claimed({ env: { COLOUR: "red" } });
    expect(held).toMatchObject({
      type: "run_task",
      attempt: 1,
      repo: { url: sampleUrl, credential: null, allowLocal: false },
      ref: "refs/heads/main",
      commit: null,
      stages: [{ name: "build" }, { name: "deploy" }],
      env: { COLOUR: "red", CI_REF_NAME: "main", CI_TRIGGER: "manual", CI_TRIGGERED_BY: "admin" },
      logFrom: 0,
    });
    expect((await scene.client.task(held.taskId)).state).toBe("dispatched");
    await scene.finish(held);
  });

  test("is given only to a runner that is registered and not disabled", async () => {
    const stranger = await registerRunner(scene.server.url, scene.server.admin, { name: "stranger" });
    await scene.server.admin.expect(200, "PATCH", `/api/runners/${stranger.id}`, { disabled: true });
    await expect(stranger.claim()).rejects.toThrow("401");
  });

  const distrusts: [string, (path: string) => Promise<unknown>][] = [
    ["was disabled", (path) => scene.server.admin.expect(200, "PATCH", path, { disabled: true })],
    ["got a new token", (path) => scene.server.admin.expect(200, "POST", `${path}/reset-token`)],
  ];
  test.each(distrusts)("is not given to a runner that %s while it waited for one", async (name, distrust) => {
    const waiting = await registerRunner(scene.server.url, scene.server.admin, { name });
    const path = `/api/runners/${waiting.id}`;
    const claim = waiting.claim().catch(messageOf);
    await eventually("it waits", async () => {
      return (await scene.server.admin.expect<{ online: boolean }>(200, "GET", path)).online;
    });
    await distrust(path);
    const projectId = await scene.client.project(sampleUrl, sampleScripts);
    const { id } = await scene.client.run(projectId);
    expect(await claim).toContain("401");
    const held = await scene.runner.claim();
    expect(held).toMatchObject({ taskId: id, attempt: 1 });
    if (held) await scene.finish(held);
  });

  test("may be finished by a runner that was disabled meanwhile, which gets no other", async () => {
    const projectId = await scene.client.project(sampleUrl, sampleScripts);
    const { id } = await scene.client.run(projectId);
    const leaving = await registerRunner(scene.server.url, scene.server.admin, { name: "leaving" });
    const held = await leaving.claim();
    if (held?.taskId !== id) throw new Error("nothing was claimed");
    await scene.server.admin.expect(200, "PATCH", `/api/runners/${leaving.id}`, { disabled: true });
    await expect(leaving.claim()).rejects.toThrow("401");
    for (const [path, more] of [
      ["beat", { waitMs: 0 }],
      ["log", { from: 0, lines: wireLines(1) }],
      ["stage", { stage: "build", state: "running", exitCode: null }],
      ["finish", { state: "success", reason: "" }],
    ] as const)
      expect((await leaving.call(path, held, more)).status).toBe(200);
    expect((await scene.client.task(id)).state).toBe("success");
  });

  test("of a project with labels goes only to a runner that is registered with all of them", async () => {
    const projectId = await scene.client.project(sampleUrl, sampleScripts, { labels: ["gpu"] });
    const { id } = await scene.client.run(projectId);
    const waiting = new AbortController();
    const nothing = scene.runner.claim(waiting.signal).catch(() => null);
    const labelled = await registerRunner(scene.server.url, scene.server.admin, {
      name: "strong",
      labels: ["gpu", "arm"],
    });
    const held = await labelled.claim();
    expect(held?.taskId).toBe(id);
    waiting.abort();
    expect(await nothing).toBeNull();
    if (held) await labelled.call("finish", held, { state: "success", reason: "" });
  });

  test("is not lost with a runner that disconnected while it waited", async () => {
    const leaving = new AbortController();
    const gone = scene.runner.claim(leaving.signal).catch(() => "gone");
    leaving.abort();
    expect(await gone).toBe("gone");
    const held = await scene.claimed();
    expect(held.attempt).toBe(1);
    await scene.finish(held);
  });
});

describe("a runner's calls", () => {
  test("move the task through its states, and a repeated call changes nothing", async () => {
    const held = await scene.claimed();
    await scene.stage(held, "checkout", "running");
    expect((await scene.client.task(held.taskId)).state).toBe("running");
    await scene.runner.call("stage", held, {
      stage: "checkout",
      state: "success",
      exitCode: 0,
      commit: "a".repeat(40),
      message: "Sell apples",
    });
    await scene.stage(held, "build", "running");
    await scene.stage(held, "build", "success");
    const before = await scene.client.task(held.taskId);
    expect(before).toMatchObject({ commit: "a".repeat(40), message: "Sell apples" });
    await scene.stage(held, "build", "success");
    expect(await scene.client.task(held.taskId)).toEqual(before);
    await scene.stage(held, "deploy", "running");
    await scene.stage(held, "deploy", "success");
    await scene.finish(held);
    const done = await scene.client.task(held.taskId);
    expect(done.state).toBe("success");
    expect((await scene.finish(held, "failed", "again")).status).toBe(409);
    expect(await scene.client.task(held.taskId)).toEqual(done);
  });

  test("store the pipeline of a task that was asked for its file, and only the first one", async () => {
    const { client, runner } = scene;
    const held = await scene.claimed({ pipeline: { from: "repository" }, deploy: { approval: "required" } });
    const report = async (of: RunTask, script: string) => {
      const pipeline = completePipeline(pipelineBody.parse({ build: [{ script }], deploy: [{ script }] }));
      return (await runner.call("pipeline", of, { pipeline })).body;
    };
    const scripts = (body: Record<string, unknown>) => JSON.stringify(body).match(/echo \w+/g);
    expect(scripts(await report(held, "echo first"))).toEqual(["echo first"]);
    expect(scripts(await report(held, "echo second"))).toEqual(["echo first"]);
    await scene.finish(held);
    await client.reach(held.taskId, "waiting");
    await client.admin.expect(200, "POST", `/api/tasks/${held.taskId}/approve`, {});
    const approved = await runner.claim();
    expect(approved?.stages.map(({ steps }) => steps.map(({ script }) => script))).toEqual([["echo first"]]);
    if (approved) await scene.finish(approved);
    const other = await scene.claimed();
    expect(await report(other, "echo other")).toMatchObject({ faults: [{ path: [] }] });
    await scene.finish(other);
  });

  test("about the log are acknowledged by index: duplicates are dropped and gaps refused", async () => {
    const held = await scene.claimed();
    const send = async (from: number, count: number) =>
      (await scene.runner.call("log", held, { from, lines: wireLines(from + count).slice(from) })).body.ack;
    expect(await send(0, 3)).toBe(3);
    expect(await send(0, 3)).toBe(3);
    expect(await send(1, 4)).toBe(5);
    expect(await send(9, 1)).toBe(5);
    expect((await scene.client.log(held.taskId)).map((line) => line.text)).toEqual(
      wireLines(5).map((line) => line.text),
    );
    await scene.finish(held);
  });

  test("learn of a cancel at once, in the response to a waiting heartbeat", async () => {
    const held = await scene.claimed();
    const beat = scene.runner.call("beat", held, { waitMs: 20_000 });
    await scene.server.admin.expect(200, "POST", `/api/tasks/${held.taskId}/cancel`);
    expect(await beat).toEqual({ status: 200, body: { continue: false, why: "canceled" } });
    expect((await scene.stage(held, "checkout", "running")).body).toMatchObject({
      continue: false,
      why: "canceled",
    });
    await scene.finish(held, "canceled", "canceled");
    expect(await scene.client.task(held.taskId)).toMatchObject({
      state: "canceled",
      reason: "canceled by admin",
    });
  });

  test("show that it is connected, also while it is too busy to claim work", async () => {
    const clock = manualClock(Date.now());
    const busy = await startProtocolScene({ "tasks.lease": 86_400_000 }, clock);
    const held = await busy.claimed();
    clock.advance(10 * 60_000);
    await busy.runner.call("beat", held, { waitMs: 0 });
    expect(await busy.server.admin.expect(200, "GET", `/api/runners/${busy.runner.id}`)).toMatchObject({
      online: true,
    });
    await busy.server.stop();
  });

  const bent: [string, "stage" | "log" | "finish" | "beat", Record<string, unknown>, string][] = [
    ["a commit that is a path", "stage", { commit: "../archive?x=" }, "commit"],
    ["a commit that is cut short", "stage", { commit: "abc123" }, "commit"],
    ["a commit with a line break", "stage", { commit: `${"a".repeat(40)}\n` }, "commit"],
    ["a commit that names nothing", "stage", { commit: "0".repeat(40) }, "commit"],
    ["a message without end", "stage", { message: "x".repeat(10_001) }, "message"],
    ["an exit code beyond a number", "stage", { exitCode: 2 ** 40 }, "exitCode"],
    ["an unknown stage", "stage", { stage: "../build" }, "stage"],
    ["a lease with strange letters", "beat", { waitMs: 0, lease: "a/../b" }, "lease"],
    ["a negative task", "beat", { waitMs: 0, taskId: -1 }, "taskId"],
    ["an attempt without end", "beat", { waitMs: 0, attempt: 2 ** 50 }, "attempt"],
    ["a log index without end", "log", { from: 2 ** 50, lines: [] }, "from"],
    ["an invalid time", "log", { from: 0, lines: [{ stage: "build", at: "soon", text: "" }] }, "lines.0.at"],
    ["a reason without end", "finish", { state: "failed", reason: "x".repeat(2001) }, "reason"],
  ];
  test.each(bent)("with %s are refused and change nothing", async (_, call, more, field) => {
    const held = await scene.claimed();
    const usual = call === "stage" ? { stage: "checkout", state: "success", exitCode: 0 } : {};
    const { status, body } = await scene.runner.call(call, held, { ...usual, ...more });
    expect(status).toBe(422);
    expect(body).toMatchObject({ error: { code: "invalid", fields: [{ field }] } });
    expect(await scene.client.task(held.taskId)).toMatchObject({ state: "dispatched", commit: null });
    await scene.finish(held);
  });

  test("with text that no database can store are accepted, and the text is corrected", async () => {
    const held = await scene.claimed();
    await scene.finish(held, "failed", "broken \0 and \ud800");
    expect((await scene.client.task(held.taskId)).reason).toBe("broken \ufffd and \ufffd");
  });

  test.each([
    ["version", { version: "<b>1</b>" }],
    ["labels.0", { labels: ["a b"] }],
    ["concurrency", { concurrency: 0 }],
  ])("to ask for work are refused with a bad %s", async (field, more) => {
    for (const path of ["hello", "claim"]) {
      const response = await fetch(`${scene.server.url}/api/runner/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${scene.runner.token}` },
        body: JSON.stringify({ labels: [], concurrency: 1, version: "1.0.0", ...more }),
      });
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({ error: { fields: [{ field }] } });
    }
  });

  test("of a runner that is too old are refused with a sentence", async () => {
    for (const path of ["hello", "claim"]) {
      const response = await fetch(`${scene.server.url}/api/runner/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${scene.runner.token}` },
        body: JSON.stringify({ labels: [], concurrency: 1, version: "0.0.9", features: ["releases"] }),
      });
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({
        error: {
          message: `This runner, version 0.0.9, is too old for this server, version ${version}; update it.`,
        },
      });
    }
  });

  test("that violate the protocol are refused", async () => {
    const held = await scene.claimed();
    expect(
      (await scene.runner.call("stage", held, { stage: "rm", state: "running", exitCode: null })).status,
    ).toBe(422);
    expect((await scene.runner.call("finish", held, { state: "lost", reason: "" })).status).toBe(422);
    await scene.finish(held);
  });
});

describe("positions", () => {
  test("are right: tasks that are ahead start before, and the first is next", async () => {
    const projectIds: number[] = [];
    for (let each = 0; each < 3; each += 1)
      projectIds.push(await scene.client.project(sampleUrl, sampleScripts));
    const told = new Map<number, number>();
    for (const projectId of [0, 0, 1, 2, 1, 2].map((index) => projectIds[index] ?? 0)) {
      const { id, queuePosition } = await scene.client.run(projectId);
      told.set(id, queuePosition ?? 0);
    }
    expect([...told.values()]).toEqual([1, 2, 2, 3, 4, 4]);
    const started: number[] = [];
    const isLeft = () => started.length < told.size;
    const holding: RunTask[] = [];
    while (isLeft()) {
      const held = await scene.runner.claim();
      if (!held) throw new Error("nothing was claimed");
      expect(started.length).toBeGreaterThanOrEqual((told.get(held.taskId) ?? 0) - 1);
      started.push(held.taskId);
      holding.push(held);
      const waiting = await Promise.all(
        [...told.keys()].filter((id) => !started.includes(id)).map(scene.client.task),
      );
      const claimable = waiting.filter(({ queuePosition }) => queuePosition === 1);
      // When every project is busy, each waiting task is next as soon as its project is free.
      if (isLeft()) expect(claimable.length).toBeGreaterThan(0);
      if (holding.length === 3) for (const each of holding.splice(0)) await scene.finish(each);
    }
  });
});

describe("limits that the server enforces even if a runner does not", () => {
  test("a log beyond its limit is acknowledged and dropped", async () => {
    const held = await scene.claimed();
    const text = "x".repeat(60_000);
    const at = new Date().toISOString();
    for (let from = 0; from < 60; from += 10) {
      const lines = Array.from({ length: 10 }, () => ({ stage: "build", at, text }));
      const answer = await scene.runner.call("log", held, { from, lines });
      expect(answer.body).toMatchObject({ continue: true, ack: from + 10 });
    }
    const stored = (await scene.client.log(held.taskId)).reduce((sum, line) => sum + line.text.length, 0);
    expect(stored).toBeLessThan(2_000_000);
    await scene.finish(held);
  });

  test("so are empty lines without end", async () => {
    const held = await scene.claimed();
    const at = new Date().toISOString();
    const lines = Array.from({ length: 5000 }, () => ({ stage: "build", at, text: "" }));
    for (let from = 0; from < 80_000; from += lines.length)
      expect((await scene.runner.call("log", held, { from, lines })).body.ack).toBe(from + lines.length);
    expect((await scene.client.log(held.taskId)).length).toBeLessThan(40_000);
    await scene.finish(held);
  });

  test("a stage that runs far over its time is stopped", async () => {
    const clock = manualClock(Date.now());
    const late = await startProtocolScene({ "tasks.lease": 86_400_000, "tasks.timeout": 60_000 }, clock);
    const held = await late.claimed();
    await late.stage(held, "build", "running");
    const beat = () => late.runner.call("beat", held, { waitMs: 0 });
    expect((await beat()).body).toEqual({ continue: true });
    clock.advance(10 * 60_000);
    expect((await beat()).body).toEqual({ continue: false, why: "timeout" });
    await late.server.stop();
  });
});
