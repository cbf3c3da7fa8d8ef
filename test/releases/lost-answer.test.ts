import { afterAll, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { sampleInstruction, startFakeServer } from "../support/fake-server.ts";
import { makeRepository } from "../support/git-repository.ts";
import { startRunnerProcess } from "../support/runner-process.ts";

const repository = await makeRepository();
const commit = await repository.push({ "app.txt": "one\n" });
const server = startFakeServer();
const runner = startRunnerProcess(server.url, "token", 1, { SLIPWAY_RUNNER_ENGINE: "none" });
afterAll(async () => {
  await runner.stop();
  server.stop();
});

test("a deploy that is canceled while the answer to its begin is lost reports that the previous release still serves", async () => {
  // The server has recorded the begin of deploy; the runner hears of it only with the cancel.
  server.disturb = (path) => {
    if (path !== "stage" || server.stages.at(-1) !== "checkout success") return null;
    server.answer = { continue: false, why: "canceled" };
    return "forget";
  };
  const instruction = sampleInstruction(repository.url, { deploy: "echo never" }, { taskId: 2 });
  const { ref, stages, env } = instruction;
  const own = { taskId: 1, attempt: 1, ref, commit, message: "", author: "" };
  const previous = { ...own, stages, services: [], env };
  server.instructions.push({ ...instruction, release: { isKept: true, from: null, previous } });
  await eventually("the task is finished", () => server.finished.length > 0);
  expect(server.stages).toEqual([
    ...["checkout running", "checkout success"],
    ...["deploy running", "deploy running"],
  ]);
  expect(server.rollbacks).toEqual(["unneeded"]);
  expect(server.finished).toMatchObject([{ taskId: 2, state: "canceled" }]);
  expect(server.lines.some(({ text }) => text === "never")).toBeFalse();
});
