import { afterAll, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { sampleInstruction, startFakeServer, withStart } from "../support/fake-server.ts";
import { makeRepository } from "../support/git-repository.ts";
import { isAlive, signalIfAlive, watchProcesses } from "../support/process-watch.ts";
import { startRunnerProcess } from "../support/runner-process.ts";

const repository = await makeRepository();
const commit = await repository.push({ "app.txt": "one\n" });
const server = startFakeServer();
const watch = watchProcesses();
const runner = startRunnerProcess(server.url, "token", 1, { SLIPWAY_RUNNER_ENGINE: "none" });
afterAll(async () => {
  await runner.stop();
  server.stop();
  for (const pid of watch.alive()) signalIfAlive(pid, "SIGKILL");
});

function serviceTask(taskId: number) {
  const scripts = { deploy: "echo deployed", start: `sleep 300 & echo $! >>${watch.file}` };
  const instruction = sampleInstruction(repository.url, scripts, { taskId });
  return { ...instruction, stages: withStart(instruction.stages, { previous: "stop-first" }) };
}

test("a deploy that is canceled before its first script does not start a previous service that has ended", async () => {
  const first = serviceTask(1);
  server.instructions.push({ ...first, release: { isKept: true, from: null, previous: null } });
  await eventually("the first release serves", () => server.finished.length > 0);
  const [pid = 0] = await watch.all(1);
  process.kill(pid, "SIGKILL");
  await eventually("its service has ended", () => !isAlive(pid));

  server.stages.length = 0;
  server.lines.length = 0;
  server.disturb = (path) => {
    if (path === "stage" && server.stages.at(-1) === "checkout success")
      server.answer = { continue: false, why: "canceled" };
    return null;
  };
  const { ref, stages, env } = first;
  const previous = { taskId: 1, attempt: 1, ref, commit, message: "", author: "", stages, env };
  server.instructions.push({ ...serviceTask(2), release: { isKept: true, from: null, previous } });
  await eventually("the second task is finished", () => server.finished.length > 1);
  expect(server.stages).toEqual(["checkout running", "checkout success", "deploy running"]);
  expect(server.rollbacks).toEqual([]);
  expect(server.finished[1]).toMatchObject({ taskId: 2, state: "canceled" });
  expect(server.lines.some(({ text }) => text === "deployed")).toBeFalse();
  expect(await watch.all(1)).toEqual([pid]);
});
