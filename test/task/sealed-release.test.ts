import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunTask } from "../../src/runner/protocol.ts";
import { eventually } from "../support/eventually.ts";
import { type FakeServer, sampleInstruction, startFakeServer } from "../support/fake-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { testImage } from "../support/podman.ts";
import { startRunnerProcess } from "../support/runner-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const [podman, bwrap] = [await serviceUrl("podman"), await serviceUrl("bwrap")];
let repository: GitRepository;
let commit: string;

beforeAll(async () => {
  repository = await makeRepository();
  commit = await repository.push({ "app.txt": "one\n", "uploads/first.txt": "of the repository\n" });
});

type Scripts = Parameters<typeof sampleInstruction>[1];
const levels: [string, Record<string, string>, string | undefined][] = [
  ["none", { SLIPWAY_RUNNER_ISOLATION: "none" }, undefined],
];
if (bwrap) levels.push(["sandbox", { SLIPWAY_RUNNER_ISOLATION: "sandbox" }, undefined]);
if (podman)
  levels.push([
    "container",
    { SLIPWAY_RUNNER_ENGINE: "podman", SLIPWAY_RUNNER_ENGINE_ARGUMENTS: podman },
    testImage,
  ]);

describe.each(levels)("a release on a runner with isolation %s", (level, settings, image) => {
  let server: FakeServer;
  let runner: ReturnType<typeof startRunnerProcess>;
  let root: string;
  let nextId = 1;
  beforeAll(() => {
    server = startFakeServer();
    root = temporaryFolder("sealed");
    runner = startRunnerProcess(server.url, "token", 1, {
      SLIPWAY_RUNNER_DIR: root,
      SLIPWAY_RUNNER_ENGINE: "none",
      ...settings,
    });
  });
  afterAll(async () => {
    await runner.stop();
    server.stop();
  });

  async function run(
    scripts: Scripts,
    folders: Partial<RunTask["folders"]> = {},
    more: Partial<RunTask> = {},
  ) {
    const taskId = nextId++;
    const from = server.lines.length;
    const instruction = sampleInstruction(repository.url, scripts, { taskId, logFrom: from, ...more });
    const stages = instruction.stages.map((stage) => ({
      ...stage,
      steps: stage.steps.map((step) => (image === undefined ? step : { ...step, image })),
    }));
    const sealed = { data: [], scratch: [], sealed: true, ...folders };
    server.instructions.push({ ...instruction, stages, folders: sealed });
    const found = () => server.finished.find((each) => each.taskId === taskId);
    await eventually(`task ${taskId} ends`, () => found() !== undefined);
    const text = server.lines.slice(from).map((line) => line.text);
    return {
      taskId,
      state: found()?.state ?? "",
      reason: found()?.reason ?? "",
      text: text.join("\n"),
      source: join(root, "releases/1", String(taskId), "source"),
    };
  }
  const isHeld = level !== "none";
  const write =
    "if echo evil >app.txt 2>/dev/null || touch new 2>/dev/null; then echo WRITTEN; fi; echo tried";

  test("is at its final path from the checkout on, and deploy and start can only read it", async () => {
    const scripts = {
      build: "pwd; echo built >made",
      deploy: `pwd; cat made; ${write}`,
      start: `pwd; cat made; ${write}`,
    };
    const { state, text, source } = await run(scripts);
    expect(text.split("\n").filter((line) => line === source)).toHaveLength(3);
    expect(text.split("\n").filter((line) => line === "built")).toHaveLength(2);
    expect(text.includes("WRITTEN")).toBe(!isHeld);
    expect(state).toBe("success");
  });

  test("that is not sealed can be written to, which the log says", async () => {
    const { text } = await run({ build: "true", deploy: write }, { sealed: false });
    expect(text).toContain("WRITTEN");
    expect(text).toContain("[deploy and start can write to this release");
  });

  test("has folders of data that survive it, filled from the repository once, and empty scratch folders", async () => {
    const folders = { data: ["uploads", "var/db"], scratch: ["tmp/cache"] };
    const look = "cat uploads/*.txt; ls var/db tmp/cache; ls -d tmp/cache var/db";
    const change =
      "echo kept >uploads/second.txt; echo row >var/db/rows; echo hot >tmp/cache/page; echo changed";
    const first = await run({ build: "ls uploads", deploy: `${look}; ${change}` }, folders);
    expect(first.text).toContain("of the repository");
    expect(first.text).toContain("changed");
    expect(first.state).toBe("success");
    const second = await run({ build: "ls uploads", deploy: look }, folders);
    expect(second.text).toContain("kept");
    expect(second.text).toContain("rows");
    expect(second.text).not.toContain("page");
    expect(readFileSync(join(root, "data/1/uploads/second.txt"), "utf8")).toBe("kept\n");
    expect(lstatSync(join(second.source, "uploads")).isSymbolicLink()).toBe(true);
    // A release that comes back has the same data.
    const from = {
      taskId: first.taskId,
      attempt: 1,
      ref: "refs/heads/main",
      commit,
      message: "",
      author: "",
    };
    const release = { isKept: true, from, previous: null };
    const back = await run({ deploy: `pwd; ${look}` }, folders, { release });
    expect(back.text).toContain(`${first.source}\n`);
    expect(back.text).toContain("rows");
  });

  test("never follows a link of the build in the place of such a folder", async () => {
    const outside = temporaryFolder("outside");
    writeFileSync(join(outside, "mine"), "mine");
    for (const build of [
      `rm -rf uploads; ln -s ${outside} uploads`,
      `ln -s ${outside} var`,
      "rm -rf uploads; echo file >uploads",
    ]) {
      const data = build.includes("var") ? ["var/db"] : ["uploads"];
      const { state, reason } = await run({ build, deploy: "true" }, { data });
      expect(reason).toContain(`The folder ${data[0]} of data or scratch cannot be made`);
      expect(state).toBe("failed");
      expect(readdirSync(outside)).toEqual(["mine"]);
    }
  });

  test("has copies of what the build had in a cache, which later builds do not change", async () => {
    const cache = { cache: ["deps"], cacheScope: "other" };
    const first = await run(
      {
        build: "echo good >deps/tool; ln deps/tool hard 2>/dev/null || cp deps/tool hard",
        deploy: "cat deps/tool hard",
      },
      {},
      cache,
    );
    expect(first.text).toContain("good\ngood");
    await run({ build: "cat deps/tool; echo evil >deps/tool" }, {}, cache);
    // Without mounts the kernel makes a hard link, which nothing separates.
    for (const name of isHeld ? ["deps/tool", "hard"] : ["deps/tool"])
      expect(readFileSync(join(first.source, name), "utf8")).toBe("good\n");
  });

  test("is removed without following links that a script has left", async () => {
    const outside = temporaryFolder("outside");
    mkdirSync(join(outside, "folder"));
    writeFileSync(join(outside, "folder/mine"), "mine");
    const build = `ln -s ${outside}/folder linked; mkdir -p $HOME/x; ln -s ${outside} $HOME/x/home; ln -s ${outside} /tmp/link; chmod 500 .`;
    const { source } = await run({ build, deploy: "exit 1" });
    expect(existsSync(source)).toBe(false);
    expect(readFileSync(join(outside, "folder/mine"), "utf8")).toBe("mine");
  });
});
