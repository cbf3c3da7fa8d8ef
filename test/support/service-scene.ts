import type { AppRole } from "../../src/app/app-context.ts";
import type { Clock } from "../../src/clock.ts";
import type { Config } from "../../src/config/config.ts";
import type { ServiceReport } from "../../src/model/service/service.ts";
import type { RunTask, WantedOutput } from "../../src/runner/protocol.ts";
import { type ProtocolScene, sampleUrl, startProtocolScene } from "./protocol-scene.ts";

export interface Deployed {
  projectId: number;
  taskId: number;
}

/** A deploy service and a runner whose services exist only in its reports. */
export interface ServiceScene extends ProtocolScene {
  /** A project with these services, without a task. */
  project(names: string[], more?: Record<string, unknown>): Promise<number>;
  /** Deploys the project once more, and reports its services as serving. */
  deploy(projectId: number): Promise<Deployed>;
  deployed(names: string[], more?: Record<string, unknown>): Promise<Deployed>;
  /** All that runs on the runner, by project and name. */
  report(...services: Partial<ServiceReport>[]): Promise<void>;
  /** A report of a service that serves, for `report`. */
  service(deployed: Deployed, change?: Partial<ServiceReport>): ServiceReport;
  /** The next instruction, which must be there already. */
  claimNow(): Promise<RunTask | null>;
  /** The parts of output that the server asks for. */
  wanted(): Promise<WantedOutput[]>;
  projectNow(projectId: number): Promise<ProjectNow>;
}

interface ProjectNow {
  liveTaskId: number | null;
  liveNote: string;
  services: { state: string; serving: number; total: number } | null;
}

export async function startServiceScene(
  settings: Partial<Config> = {},
  clock?: Clock,
  role?: AppRole,
): Promise<ServiceScene> {
  const scene = await startProtocolScene(settings, clock, role);
  const { client, runner, stage } = scene;
  const keptOf = new Map<number, { taskId: number; bytes: number }[]>();
  const now = () => new Date(clock?.now() ?? Date.now()).toISOString();

  const service: ServiceScene["service"] = (deployed, change) => ({
    ...{ ...deployed, name: "web", state: "serving", since: now(), startedAt: now(), restarts: 0, exits: [] },
    ...{ lastExit: null, fault: "", lastLines: "", port: 20_000, memoryBytes: 1000, cpu: 0.5 },
    output: { from: 0, to: 0 },
    ...{ routes: [], requests: null },
    ...change,
  });
  const report = async (...services: Partial<ServiceReport>[]) => {
    const response = await runner.post("services", { services });
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  };
  const project = (names: string[], more: Record<string, unknown> = {}) =>
    client.project(
      sampleUrl,
      {},
      {
        pipeline: {
          build: [{ script: "make" }],
          start: Object.fromEntries(names.map((name) => [name, { command: `node ${name}.js` }])),
        },
        ...more,
      },
    );
  /** A claim that waits for nothing: one that finds no work is given up. */
  const claimNow = async () => {
    try {
      return await runner.claim(AbortSignal.timeout(1000));
    } catch (error) {
      if (error instanceof Error && error.name === "TimeoutError") return null;
      throw error;
    }
  };

  async function deploy(projectId: number): Promise<Deployed> {
    const { id } = await client.run(projectId);
    const instruction = await runner.claim();
    if (instruction?.taskId !== id) throw new Error(`claimed ${instruction?.taskId} instead of ${id}`);
    await runner.call("stage", instruction, {
      ...{ stage: "checkout", state: "success", exitCode: 0 },
      commit: String(id).padStart(40, "0"),
    });
    await stage(instruction, "build", "success");
    for (const { name } of instruction.services ?? [])
      await runner.call("stage", instruction, {
        stage: "start",
        step: name,
        state: "running",
        exitCode: null,
      });
    for (const { name } of instruction.services ?? [])
      await runner.call("stage", instruction, { stage: "start", step: name, state: "success", exitCode: 0 });
    const kept = [...(keptOf.get(projectId) ?? []), { taskId: id, bytes: 1 }];
    keptOf.set(projectId, kept);
    await runner.call("finish", instruction, { state: "success", reason: "", kept });
    const deployed = { projectId, taskId: id };
    await report(...(instruction.services ?? []).map(({ name }) => service(deployed, { name })));
    return deployed;
  }

  return {
    ...scene,
    ...{ project, deploy, report, service, claimNow },
    async deployed(names, more) {
      return deploy(await project(names, more));
    },
    async wanted() {
      const response = await runner.post("output-wanted", {});
      return ((await response.json()) as { wanted: WantedOutput[] }).wanted;
    },
    projectNow: (projectId) =>
      scene.server.admin.expect<ProjectNow>(200, "GET", `/api/projects/${projectId}`),
  };
}
