import type { AppRole } from "../../src/app/app-context.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import type { Config } from "../../src/config/config.ts";
import type { RunTask } from "../../src/runner/protocol.ts";
import { type ApiServer, startApiServer } from "./api-server.ts";
import { deployClient } from "./deploy-server.ts";
import { type ProtocolRunner, registerRunner } from "./protocol-runner.ts";

export const sampleScripts = { build: "make", deploy: "make deploy" };
export const sampleUrl = "https://git.example.com/shop.git";

/** A deploy service and one runner whose calls are made by the test. */
export interface ProtocolScene {
  server: ApiServer;
  client: Awaited<ReturnType<typeof deployClient>>;
  runner: ProtocolRunner;
  /** Creates a project with one task, and claims it. */
  claimed(more?: Record<string, unknown>): Promise<RunTask>;
  stage(held: RunTask, name: string, state: string): ReturnType<ProtocolRunner["call"]>;
  finish(held: RunTask, state?: string, reason?: string): ReturnType<ProtocolRunner["call"]>;
}

export async function startProtocolScene(
  settings: Partial<Config> = {},
  clock: Clock = systemClock,
  role?: AppRole,
): Promise<ProtocolScene> {
  const server = await startApiServer(settings, clock, role);
  const client = await deployClient(server.url, server.dataDir);
  const runner = await registerRunner(server.url, server.admin, { name: "by hand", concurrency: 20 });
  return {
    server,
    client,
    runner,
    async claimed(more = {}) {
      const projectId = await client.project(sampleUrl, sampleScripts, more);
      const { id } = await client.run(projectId);
      const instruction = await runner.claim();
      if (instruction?.taskId !== id) throw new Error(`claimed ${instruction?.taskId} instead of ${id}`);
      return instruction;
    },
    stage: (held, name, state) =>
      runner.call("stage", held, { stage: name, state, exitCode: state === "running" ? null : 0 }),
    finish: (held, state = "success", reason = "") => runner.call("finish", held, { state, reason }),
  };
}

/** Lines of a build as a runner sends them. */
export function wireLines(count: number) {
  const at = new Date().toISOString();
  return Array.from({ length: count }, (_, index) => ({ stage: "build", at, text: `line ${index}` }));
}
