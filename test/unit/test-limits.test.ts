import { expect, test } from "bun:test";
import { join, relative } from "node:path";
import { root, runGroup } from "../../scripts/test-groups.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder("test-limits");
const stallLimitMs = 4000;

async function groupOf(name: string, source: string) {
  const file = join(folder, `${name}.test.ts`);
  await Bun.write(file, `import { test } from "bun:test";\n${source}`);
  return runGroup({ name, files: [relative(root, file)] }, {}, stallLimitMs);
}

test.concurrent("a group that takes longer than the limit passes as long as its tests end", async () => {
  const result = await groupOf("slow", "for (let i = 0; i < 6; i++) test(String(i), () => Bun.sleep(800));");
  expect(result).toMatchObject({ passed: 6, failed: 0, failures: [] });
  expect(result.ms).toBeGreaterThan(stallLimitMs);
});

test.concurrent("a group in which no test ends is ended and says so", async () => {
  const result = await groupOf("hanging", 'test("fine", () => {});\ntest("hangs", () => { for (;;); });');
  expect(result.failed).toBe(1);
  expect(result.failures).toEqual(["was ended because no test ended within 4 s"]);
});

test.concurrent("a test that announces a longer limit is waited for", async () => {
  const helper = join(root, "test/support/long-test.ts");
  const result = await groupOf(
    "long",
    `import { longTest } from ${JSON.stringify(helper)};\ntest("long", () => Bun.sleep(5000), longTest(10_000));`,
  );
  expect(result).toMatchObject({ passed: 1, failed: 0 });
});
