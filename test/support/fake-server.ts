import { stepDefaults } from "../../src/model/pipeline.ts";
import { serviceDefaults } from "../../src/model/service/service.ts";
import { type StageName, stepTitle } from "../../src/model/stage/stage-name.ts";
import {
  beatRequest,
  type RunTask,
  timingOf,
  type WireLine,
  type WireService,
  type WireStage,
} from "../../src/runner/protocol.ts";

/** The server's half of the protocol for tests of a runner: it gives only the answers of the test. */
export interface FakeServer {
  url: string;
  /** Given to claims one by one, valid or not. */
  instructions: unknown[];
  claims: number;
  beats: number;
  stages: string[];
  /** The states of rollbacks in the order of their reports. */
  rollbacks: string[];
  /** What the runner has said of the disk use of projects. */
  disk: Record<string, unknown>[];
  finished: { taskId: number; attempt: number; state: string; reason: string }[];
  /** All lines in the order of their index, without duplicates, as in the real server. */
  lines: WireLine[];
  /** Refuses a call before it is read: a status, or null. */
  disturb: (path: string) => number | "forget" | null;
  answer: Record<string, unknown>;
  stop(): void;
}

export function startFakeServer(port = 0): FakeServer {
  const lines: WireLine[] = [];
  const fake: FakeServer = {
    url: "",
    instructions: [],
    claims: 0,
    beats: 0,
    stages: [],
    rollbacks: [],
    disk: [],
    finished: [],
    lines,
    disturb: () => null,
    answer: { continue: true },
    stop: () => server.stop(true),
  };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    async fetch(request) {
      const path = new URL(request.url).pathname.split("/").at(-1) ?? "";
      const body = (await request.json()) as Record<string, never>;
      const disturbed = fake.disturb(path);
      if (typeof disturbed === "number") return new Response("", { status: disturbed });
      if (path === "hello") return Response.json({ name: "a runner", labels: [] });
      if (path === "claim") {
        fake.claims += 1;
        const instruction = fake.instructions.shift();
        // A short long-poll.
        if (instruction === undefined) await Bun.sleep(20);
        return instruction === undefined ? new Response(null, { status: 204 }) : Response.json(instruction);
      }
      if (path === "stage")
        fake.stages.push(`${stepTitle(body.stage ?? "", body.step ?? null)} ${body.state}`);
      if (path === "services")
        fake.disk.push(...((body.disk as Record<string, unknown>[] | undefined) ?? []));
      if (path === "rollback") fake.rollbacks.push(String(body.state));
      if (path === "finish") fake.finished.push(body as unknown as FakeServer["finished"][number]);
      if (path === "log") {
        const { from, lines: sent } = body as unknown as { from: number; lines: WireLine[] };
        if (from <= lines.length) lines.push(...sent.slice(lines.length - from));
      }
      if (path === "beat") {
        if (!beatRequest.safeParse(body).success) return new Response("", { status: 422 });
        fake.beats += 1;
        // The runner beats as often as it is answered.
        await Bun.sleep(20);
      }
      // The call is accepted, but its response gets lost.
      if (disturbed === "forget") return new Response("", { status: 502 });
      return Response.json({ ...fake.answer, ...(path === "log" ? { ack: lines.length } : {}) });
    },
  });
  fake.url = server.url.origin;
  return fake;
}

export function sampleService(command: string, more: Partial<WireService> = {}): WireService {
  return { ...serviceDefaults, name: "web", command, stopGrace: 1, drain: 0, ...more };
}

export function sampleStep(name: string, script: string): WireStage["steps"][number] {
  const { timeout: _timeout, ...defaults } = stepDefaults;
  return { ...defaults, name, script, timeoutMs: 60_000 };
}

export function sampleInstruction(
  url: string,
  scripts: Partial<Record<StageName, string>>,
  more: Partial<RunTask> = {},
  leaseMs = 60_000,
): RunTask {
  return {
    type: "run_task",
    taskId: 1,
    attempt: 1,
    lease: "a-lease",
    projectId: 1,
    repo: {
      ...{ url, submodules: false, lfs: false, isFork: false },
      ...{ credential: null, allowLocal: true, trusted: [] },
    },
    ref: "refs/heads/main",
    commit: null,
    stages: Object.entries(scripts).map(([name, script]) => ({
      name: name as "build",
      steps: [sampleStep(name, script)],
    })),
    resources: { memoryBytes: null, cpus: null, processes: null, nice: 0 },
    services: null,
    folders: { data: [], scratch: [], sealed: false },
    cache: [],
    cacheScope: "other",
    waitingTasks: [],
    env: {},
    secrets: {},
    files: [],
    limits: sampleLimits(leaseMs),
    logFrom: 0,
    release: { isKept: true, from: null, previous: null },
    ...more,
  };
}

export function sampleLimits(leaseMs = 60_000): RunTask["limits"] {
  return {
    ...timingOf(leaseMs),
    logMaxBytes: 10_000_000,
    logBytesUsed: 0,
    checkoutTimeoutMs: 60_000,
    stopGraceMs: 300,
  };
}
