import { afterAll, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { sampleInstruction, startFakeServer } from "../support/fake-server.ts";
import { makeRepository } from "../support/git-repository.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestRunner } from "../support/test-runner.ts";

const repository = await makeRepository();
await repository.push({ "app.txt": "one\n" });
const root = temporaryFolder("secrets");
const server = startFakeServer();
const runner = startTestRunner(server.url, root, { concurrency: 1 });
afterAll(async () => {
  runner.abandon.abort();
  await runner.done;
  server.stop();
});

const secrets = Object.fromEntries(
  Array.from({ length: 15 }, (_, index) => [`LARGE_${index}`, `${index}-${"s".repeat(32_700)}`]),
);

test("secrets of 500 KB reach the script and are masked, also in pieces", async () => {
  const build = 'echo "begin $LARGE_14 end"; printf "14-"; sleep 0.2; echo "$LARGE_14" | cut -c4-';
  server.instructions.push(sampleInstruction(repository.url, { build }, { secrets }));
  await eventually("the task is finished", () => server.finished.length === 1);
  expect(server.finished).toMatchObject([{ state: "success" }]);
  const texts = server.lines.map(({ text }) => text);
  expect(texts).toContain("begin *** end");
  expect(texts.join("")).not.toContain("ssssssss");
});
