import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
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
const tools = temporaryFolder("tools");
const shown = temporaryFolder("shown");

beforeAll(async () => {
  repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" });
  mkdirSync(join(tools, "bin"));
  mkdirSync(join(shown, "bin"));
  for (const folder of [tools, shown]) {
    const program = join(folder, "bin", folder === tools ? "slipway-hidden-tool" : "slipway-shown-tool");
    writeFileSync(program, "#!/bin/sh\necho the tool ran\n");
    chmodSync(program, 0o755);
  }
});

type Scripts = Parameters<typeof sampleInstruction>[1];
type Step = RunTask["stages"][number]["steps"][number];

function startScene(settings: Record<string, string>) {
  const server: FakeServer = startFakeServer();
  const root = temporaryFolder("options");
  const runner = startRunnerProcess(server.url, "token", 1, {
    SLIPWAY_RUNNER_DIR: root,
    SLIPWAY_RUNNER_ENGINE: "none",
    PATH: `${process.env.PATH}:${join(tools, "bin")}:${join(shown, "bin")}`,
    ...settings,
  });
  let nextId = 1;
  return {
    root,
    async run(scripts: Scripts, step: Partial<Step> = {}, more: Partial<RunTask> = {}) {
      const taskId = nextId++;
      const from = server.lines.length;
      const instruction = sampleInstruction(repository.url, scripts, { taskId, logFrom: from, ...more });
      const stages = instruction.stages.map((stage) => ({
        ...stage,
        steps: stage.steps.map((each) => ({ ...each, ...step })),
      }));
      server.instructions.push({ ...instruction, stages });
      const found = () => server.finished.find((each) => each.taskId === taskId);
      await eventually(`task ${taskId} ends`, () => found() !== undefined);
      const text = server.lines.slice(from).map((line) => line.text);
      return { state: found()?.state ?? "", reason: found()?.reason ?? "", text: text.join("\n") };
    },
    async stop() {
      await runner.stop();
      server.stop();
    },
  };
}

const levels: [string, Record<string, string>, string][] = [
  ["none", { SLIPWAY_RUNNER_ISOLATION: "none" }, ""],
];
const sandbox = { SLIPWAY_RUNNER_ISOLATION: "sandbox", SLIPWAY_RUNNER_SANDBOX_PATHS: `${shown}:rw` };
if (bwrap) levels.push(["sandbox", sandbox, ""]);
if (podman)
  levels.push([
    "container",
    { SLIPWAY_RUNNER_ENGINE: "podman", SLIPWAY_RUNNER_ENGINE_ARGUMENTS: podman },
    testImage,
  ]);

describe.each(levels)("a step with isolation %s", (level, settings, image) => {
  let scene: ReturnType<typeof startScene>;
  beforeAll(() => {
    scene = startScene(settings);
  });
  afterAll(() => scene.stop());

  test("gets secrets as files that only it can read, and that go with it", async () => {
    const key = "-----BEGIN KEY-----\nabc\n-----END KEY-----";
    const look =
      'echo "path=$DEPLOY_KEY"; ls -ln "$DEPLOY_KEY" | cut -c1-10; wc -l <"$DEPLOY_KEY"; cat "$DEPLOY_KEY"; env | grep -c END || true; echo "plain=$OTHER"';
    const secrets = { DEPLOY_KEY: key, OTHER: "plain-value-1" };
    const { state, text } = await scene.run(
      { build: look, deploy: look },
      { image },
      { secrets, files: ["DEPLOY_KEY"] },
    );
    expect(state).toBe("success");
    expect(text).toContain("-r--------");
    expect(text).toMatch(/^ *3$/m);
    expect(text).toMatch(/^0$/m);
    expect(text).not.toContain("BEGIN KEY");
    const paths = [...text.matchAll(/^path=(.+)$/gm)].map((match) => match[1] ?? "");
    expect(paths.length).toBe(2);
    for (const path of paths) expect(existsSync(path)).toBe(false);
    expect(readdirSync("/dev/shm").filter((name) => name.startsWith("slipway-env-"))).not.toContain(
      paths[0]?.split("/")[3],
    );
  });

  test("keeps folders below ~ for the next task of the project, of the same trust alone", async () => {
    const cache = { cache: ["~/.npm", "~/.cache/tool"] };
    const build =
      "cat ~/.npm/seen 2>/dev/null || echo cold; echo warm >~/.npm/seen; echo x >~/.cache/tool/y; ls -a ~";
    const first = await scene.run({ build }, { image }, { ...cache, cacheScope: "other" });
    expect(first.text).toContain("cold");
    expect(first.state).toBe("success");
    const second = await scene.run({ build }, { image }, { ...cache, cacheScope: "other" });
    expect(second.text).toContain("warm");
    const other = await scene.run({ build }, { image }, { ...cache, cacheScope: "protected" });
    expect(other.text).toContain("cold");
    const empty = await scene.run(
      { build: "mkdir -p ~/.npm ~/.cache/tool; ls ~/.npm; echo looked" },
      { image },
      { ...cache, cacheScope: "other", emptyCache: true },
    );
    expect(empty.text).toContain("looked");
    expect(empty.text).not.toContain("seen");
  });

  test("does not run on the machine itself where the runner does not allow it", async () => {
    const { state, reason } = await scene.run({ deploy: "id" }, { image, host: true });
    expect(state).toBe("failed");
    expect(reason).toContain("deploy runs outside of the sandbox, which this runner does not allow");
  });

  if (level === "sandbox") {
    test("sees the folders of runner.sandboxPaths, and names the setting for a program elsewhere", async () => {
      const { text } = await scene.run({ build: `slipway-shown-tool; touch ${shown}/made && echo written` });
      expect(text).toContain("the tool ran\nwritten");
      for (const build of ["slipway-hidden-tool", "env slipway-hidden-tool", "bash -c slipway-hidden-tool"]) {
        const { reason } = await scene.run({ build });
        expect(reason).toBe(
          `build failed with exit code 127: slipway-hidden-tool is in ${tools}, which sandboxes do not show: add the folder to runner.sandboxPaths of the runner`,
        );
      }
      const { reason } = await scene.run({ build: "slipway-no-such-tool" });
      expect(reason).toBe("build failed with exit code 127");
    });
  }
});

test.skipIf(!bwrap)(
  "a host step runs as the runner's user and sees the machine, the build does not",
  async () => {
    const scene = startScene({ SLIPWAY_RUNNER_ISOLATION: "sandbox", SLIPWAY_RUNNER_HOST_STEPS: "true" });
    try {
      const look = `test -e ${tools}/bin && echo "SEES as $(id -u)"; echo looked`;
      const onHost = await scene.run({ deploy: look }, { host: true });
      expect(onHost.text).toContain(`SEES as ${process.getuid?.()}`);
      expect(onHost.state).toBe("success");
      const inside = await scene.run({ deploy: look });
      expect(inside.text).toContain("looked");
      expect(inside.text).not.toContain("SEES");
    } finally {
      await scene.stop();
    }
  },
);
