import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { sampleInstruction, startFakeServer } from "../support/fake-server.ts";
import { makeRepository } from "../support/git-repository.ts";
import { startTestRunner } from "../support/test-runner.ts";

const repository = await makeRepository();
await repository.push({ "app.txt": "one\n" });
const root = mkdtempSync(join(tmpdir(), "slipway-secrets-"));
const server = startFakeServer();
const runner = startTestRunner(server.url, root, { concurrency: 1 });
afterAll(async () => {
  runner.abandon.abort();
  await runner.done;
  server.stop();
  rmSync(root, { recursive: true, force: true });
  repository.remove();
});

/** As an earlier version of the server allowed them. */
const largeSecrets = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`LARGE_${index}`, `${index}-${"s".repeat(32_700)}`]),
  );

test("secrets of 2 MB end their task, and the next task of another project runs", async () => {
  const build = 'echo "built"';
  server.instructions.push(
    sampleInstruction(repository.url, { build }, { secrets: largeSecrets(62) }),
    sampleInstruction(repository.url, { build }, { taskId: 2, projectId: 2 }),
  );
  await eventually("both tasks are finished", () => server.finished.length === 2);
  expect(server.finished).toMatchObject([
    { taskId: 1, state: "success" },
    { taskId: 2, state: "success" },
  ]);
});

test("secrets of 500 KB reach the script and are masked, also in pieces", async () => {
  server.finished.length = 0;
  const secrets = largeSecrets(15);
  const build = 'echo "begin $LARGE_14 end"; printf "14-"; sleep 0.2; echo "$LARGE_14" | cut -c4-';
  server.instructions.push(sampleInstruction(repository.url, { build }, { taskId: 3, secrets }));
  await eventually("the task is finished", () => server.finished.length === 1);
  expect(server.finished).toMatchObject([{ taskId: 3, state: "success" }]);
  const texts = server.lines.map(({ text }) => text);
  expect(texts).toContain("begin *** end");
  expect(texts.join("")).not.toContain("ssssssss");
});
