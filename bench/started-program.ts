import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { freePort } from "../test/support/free-port.ts";
import { digits, type Table } from "./benchmark.ts";
import { untilAnswering, untilListening } from "./listening.ts";
import { argumentsOf, cpuMsWithEndedOf, pssBytesOf, treeOf } from "./process-figures.ts";

/** A program whose start and memory are measured, each time with an empty folder. */
export interface Program {
  name: string;
  command(port: number, folder: string): string[];
  env?(port: number, folder: string): Record<string, string>;
  /** It is started when this path is answered; absent: when its port accepts a connection. */
  path?: string;
}

export interface ProcessMemory {
  process: string;
  bytes: number;
}

interface StartedProgram {
  elapsedMs: number;
  /** Until then; other load on the machine hardly changes it. */
  cpuMs: number;
  /** Of each of its processes. */
  memory(): ProcessMemory[];
  stop(): Promise<void>;
}

export async function startProgram({ name, command, env, path }: Program): Promise<StartedProgram> {
  const folder = mkdtempSync(join(tmpdir(), "slipway-bench-"));
  const port = freePort();
  const line = command(port, folder);
  const startedAt = performance.now();
  const child = Bun.spawn(line, {
    cwd: folder,
    env: { ...process.env, ...env?.(port, folder) },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  const stop = async () => {
    child.kill("SIGTERM");
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const elapsedMs =
      path === undefined
        ? await untilListening(child, port, startedAt)
        : await untilAnswering(child, `http://127.0.0.1:${port}${path}`, startedAt);
    return {
      elapsedMs,
      cpuMs: cpuMsWithEndedOf(child.pid),
      memory: () =>
        treeOf(child.pid)
          .map((pid) => ({ process: processNameOf(pid), bytes: pssBytesOf(pid) }))
          .filter(({ bytes }) => bytes > 0),
      stop,
    };
  } catch (error) {
    await stop();
    throw new Error(`${name}: ${(error as Error).message}`);
  }
}

/** Long enough for threads and processes that end when they are not used. */
export const idleMs = 75_000;

/** Of all programs at once: each waits for itself. */
export async function idleMemory(programs: Program[]): Promise<ProcessMemory[][]> {
  const started: StartedProgram[] = [];
  try {
    for (const program of programs) started.push(await startProgram(program));
    await Bun.sleep(idleMs);
    return started.map((program) => program.memory());
  } finally {
    for (const program of started) await program.stop();
  }
}

export function totalOf(memory: ProcessMemory[]): number {
  return memory.reduce((sum, { bytes }) => sum + bytes, 0);
}

export function memoryTable(names: string[], memory: ProcessMemory[][]): Table {
  const megabytes = (bytes: number) => digits(bytes / 1024 ** 2);
  return {
    title: "Idle memory",
    head: ["program", "all processes, MB", "each process, MB"],
    rows: names.map((name, index) => {
      const processes = memory[index] ?? [];
      const each = processes.map(({ process, bytes }) => `${process} ${megabytes(bytes)}`).join(", ");
      return [name, megabytes(totalOf(processes)), each];
    }),
  };
}

/** Processes of one program differ by the command that they run. */
function processNameOf(pid: number): string {
  const words = argumentsOf(pid).map((word) => basename(word));
  const roles = ["start", "push", "deploy", "runner", "runner-guard"];
  return words.find((word) => roles.includes(word)) ?? words[0] ?? "";
}
