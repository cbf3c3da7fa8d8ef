import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { currentCommit, nativeTarget, writeExecutable } from "../scripts/executable.ts";
import { freePort } from "../test/support/free-port.ts";
import { type Benchmark, type BenchmarkResult, digits, median } from "./benchmark.ts";
import { centrifugoCommand, findProgram } from "./peers/peer-servers.ts";
import {
  idleMemory,
  idleMs,
  memoryTable,
  type ProcessMemory,
  type Program,
  startProgram,
  totalOf,
} from "./started-program.ts";

const runs = 10;

interface Contender extends Program {
  /** The executable file. */
  file: string;
  times: number[];
  cpuTimes: number[];
}

export const footprint: Benchmark = {
  name: "footprint",
  title: "Size, start and memory",
  method: `Programs that are one executable file, each with its defaults and an empty folder: Slipway as \`npm run compile\` makes it, and whichever of the others is found on the PATH or by a variable (\`BENCH_CENTRIFUGO\`, \`BENCH_POCKETBASE\`, \`BENCH_WOODPECKER_SERVER\`, \`BENCH_NATS_SERVER\`, \`BENCH_ANYCABLE_GO\`). The time is that from the start of the command until the first HTTP answer, ${runs} runs of each in turn, medians. Memory is the proportional set size of all processes ${idleMs / 1000} s after the start, without a request. \`slipway start\` includes its runner; an agent of Woodpecker is another program. \`BENCH_IMAGES\` names images whose sizes are added.`,
  async run(progress) {
    const folder = mkdtempSync(join(tmpdir(), "slipway-bench-"));
    try {
      const contenders = [...(await slipways(folder)), ...others()];
      progress("compiled");
      for (let run = 0; run <= runs; run++) {
        for (const contender of contenders) {
          const { elapsedMs, cpuMs, stop } = await startProgram(contender);
          await stop();
          if (run === 0) continue;
          contender.times.push(elapsedMs);
          contender.cpuTimes.push(cpuMs);
        }
        progress(run === 0 ? "warm" : `run ${run} of ${runs}`);
      }
      return resultOf(contenders, await idleMemory(contenders));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

const contender = (file: string, program: Program): Contender => ({
  ...program,
  file,
  times: [],
  cpuTimes: [],
});

/** A copy of the executable for each command, so that they share no pages. */
async function slipways(folder: string): Promise<Contender[]> {
  const compiled = join(folder, "slipway");
  await writeExecutable({ file: compiled, build: { commit: currentCommit(), target: nativeTarget } });
  return ["start", "push"].map((role) => {
    const file = join(folder, `slipway-${role}`);
    copyFileSync(compiled, file);
    return contender(file, {
      name: `Slipway, ${role}`,
      path: "/livez",
      command: (port, data) => [
        file,
        role,
        "--server-listen",
        `127.0.0.1:${port}`,
        "--data-dir",
        join(data, "data"),
        "--push-verify-uri",
        "http://127.0.0.1:9/verify",
      ],
    });
  });
}

interface Peer extends Omit<Program, "command"> {
  /** Its usual name. */
  program: string;
  parameters(port: number, folder: string): string[];
}

const peers: Peer[] = [
  {
    name: "PocketBase",
    program: "pocketbase",
    path: "/api/health",
    parameters: (port, folder) => ["serve", `--http=127.0.0.1:${port}`, `--dir=${join(folder, "data")}`],
  },
  {
    name: "Woodpecker server",
    program: "woodpecker-server",
    path: "/healthz",
    parameters: () => [],
    env: woodpeckerSettings,
  },
  {
    name: "NATS",
    program: "nats-server",
    path: "/",
    parameters: (port) => ["-a", "127.0.0.1", "-p", "-1", "-m", String(port)],
  },
  {
    name: "AnyCable",
    program: "anycable-go",
    path: "/health",
    parameters: (port) => [
      "--public",
      "--host=127.0.0.1",
      `--port=${port}`,
      "--broadcast_adapter=http",
      `--http_broadcast_port=${freePort()}`,
    ],
  },
];

/** Those that this machine has. */
function others(): Contender[] {
  const [centrifugo, command] = [findProgram("centrifugo"), centrifugoCommand()];
  const found = peers.flatMap(({ program, parameters, ...rest }) => {
    const file = findProgram(program);
    if (file === null) return [];
    return [contender(file, { ...rest, command: (port, folder) => [file, ...parameters(port, folder)] })];
  });
  if (centrifugo === null || command === null) return found;
  return [contender(centrifugo, { name: "Centrifugo", path: "/", command }), ...found];
}

/** It needs a Git host, which it first calls when somebody signs in. */
function woodpeckerSettings(port: number, folder: string): Record<string, string> {
  return {
    WOODPECKER_SERVER_ADDR: `127.0.0.1:${port}`,
    WOODPECKER_GRPC_ADDR: "127.0.0.1:0",
    WOODPECKER_HOST: `http://127.0.0.1:${port}`,
    WOODPECKER_AGENT_SECRET: "bench",
    WOODPECKER_DATABASE_DATASOURCE: join(folder, "woodpecker.sqlite"),
    WOODPECKER_GITEA: "true",
    WOODPECKER_GITEA_URL: "http://127.0.0.1:9",
    WOODPECKER_GITEA_CLIENT: "bench",
    WOODPECKER_GITEA_SECRET: "bench",
  };
}

const megabytes = (bytes: number) => digits(bytes / 1024 ** 2);

function resultOf(contenders: Contender[], memory: ProcessMemory[][]): BenchmarkResult {
  const rows = contenders.map((each, index) => ({ ...each, bytes: totalOf(memory[index] ?? []) }));
  const timeFigure = (role: string, most: number) => {
    const ms = median(rows.find(({ name }) => name === `Slipway, ${role}`)?.times ?? []);
    return {
      name: `slipway ${role} answers`,
      measured: `after ${digits(ms)} ms`,
      toReach: `≤ ${most} ms`,
      isReached: ms <= most,
    };
  };
  const idleBytes = rows[0]?.bytes ?? 0;
  return {
    figures: [
      {
        name: "slipway start, idle, with its runner",
        measured: `${megabytes(idleBytes)} MB`,
        toReach: "≤ 100 MB",
        isReached: idleBytes <= 100 * 1024 ** 2,
      },
      timeFigure("start", 180),
      timeFigure("push", 60),
    ],
    tables: [
      {
        title: "Until the first HTTP answer, and idle",
        head: [
          "program",
          "executable, MB",
          "answers, ms",
          "least, ms",
          "CPU until then, ms",
          "idle memory, MB",
        ],
        rows: rows.map(({ name, file, times, cpuTimes, bytes }) => [
          name,
          megabytes(statSync(file).size),
          digits(median(times)),
          digits(Math.min(...times)),
          digits(median(cpuTimes)),
          megabytes(bytes),
        ]),
      },
      memoryTable(
        rows.map(({ name }) => name),
        memory,
      ),
      ...imageTable(),
    ],
    plots: [
      {
        file: "performance-footprint-memory",
        title: "Idle memory",
        unit: "MB",
        bars: rows.map(({ name, bytes }) => ({ label: name, value: bytes / 1024 ** 2 })),
      },
      {
        file: "performance-footprint-start",
        title: "Until the first HTTP answer",
        unit: "ms",
        bars: rows.map(({ name, times }) => ({ label: name, value: median(times) })),
      },
    ],
  };
}

function imageTable(): BenchmarkResult["tables"] {
  const images = process.env.BENCH_IMAGES?.split(",") ?? [];
  const engine = Bun.which("podman") ?? Bun.which("docker");
  if (images.length === 0 || engine === null) return [];
  const sizeOf = (image: string) =>
    Number(Bun.spawnSync([engine, "image", "inspect", "--format", "{{.Size}}", image]).stdout.toString());
  return [
    {
      title: "Images, unpacked",
      head: ["image", "MB"],
      rows: images.map((image) => [image, megabytes(sizeOf(image))]),
    },
  ];
}
