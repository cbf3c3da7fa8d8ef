import type { StageName } from "../../src/model/stage/stage-name.ts";
import type { RunTask } from "../../src/runner/protocol.ts";
import { eventually } from "./eventually.ts";
import { type FakeServer, sampleInstruction, startFakeServer } from "./fake-server.ts";
import { type GitRepository, makeRepository } from "./git-repository.ts";
import { testImage } from "./podman.ts";
import { startRunnerProcess } from "./runner-process.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** A runner in a process of its own with a real podman, and the server's half of the protocol. */
export interface ContainerScene {
  server: FakeServer;
  repository: GitRepository;
  runner: ReturnType<typeof startRunnerProcess>;
  /** Folder of the runner's workspaces. */
  root: string;
  /** Gives the runner a task whose stages run in the image; answers its id. */
  give(scripts: Scripts, step?: Partial<WireStep>, more?: Partial<RunTask>): number;
  /** Runs a task to its end. */
  run(
    scripts: Scripts,
    step?: Partial<WireStep>,
    more?: Partial<RunTask>,
  ): Promise<{ state: string; reason: string; text: string }>;
  end(id: number): Promise<{ state: string; reason: string; text: string }>;
  text(): string;
  stop(): Promise<void>;
}

type WireStep = RunTask["stages"][number]["steps"][number];
type Scripts = Partial<Record<StageName, string>>;

export async function startContainerScene(
  engineArguments: string,
  settings: Record<string, string> = {},
): Promise<ContainerScene> {
  const repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" });
  const server = startFakeServer();
  const root = temporaryFolder("root");
  const runner = startRunnerProcess(server.url, "token", 2, {
    SLIPWAY_RUNNER_ENGINE: "podman",
    SLIPWAY_RUNNER_ENGINE_ARGUMENTS: engineArguments,
    SLIPWAY_RUNNER_DIR: root,
    ...settings,
  });
  let nextId = 1;
  const scene: ContainerScene = {
    server,
    repository,
    runner,
    root,
    text: () => server.lines.map((line) => line.text).join("\n"),
    give(scripts, step = {}, more = {}) {
      const taskId = nextId++;
      const instruction = sampleInstruction(repository.url, scripts, {
        taskId,
        logFrom: server.lines.length,
        ...more,
      });
      const stages = instruction.stages.map(({ name, steps }) => ({
        name,
        steps: steps.map((each) => ({ ...each, image: testImage, ...step })),
      }));
      server.instructions.push({ ...instruction, stages });
      return taskId;
    },
    run: (scripts, step, more) => scene.end(scene.give(scripts, step, more)),
    async end(id) {
      const found = () => server.finished.find(({ taskId }) => taskId === id);
      await eventually(`task ${id} ends`, () => found() !== undefined);
      const { state = "", reason = "" } = found() ?? {};
      return { state, reason, text: scene.text() };
    },
    async stop() {
      await runner.stop();
      server.stop();
    },
  };
  return scene;
}

/** Names of containers that this runner's tasks have left. */
export function leftContainers(): string[] {
  const list = Bun.spawnSync([
    "podman",
    "ps",
    "--all",
    "--format",
    "{{.Names}}",
    "--filter",
    "label=slipway.task",
  ]);
  if (list.exitCode !== 0) throw new Error(`podman ps: ${list.stderr}`);
  return list.stdout.toString().trim().split("\n").filter(Boolean);
}
