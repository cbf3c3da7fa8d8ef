import { rmSync } from "node:fs";
import { resolve } from "node:path";
import { untilListening } from "../listening.ts";
import type { PeerDialect } from "../peer-load.ts";
import { cpuMsOf, pssBytesOf, treeOf } from "../process-figures.ts";

/** A server of the comparison, and how its clients talk to it. */
export interface PeerServer {
  name: string;
  dialect: PeerDialect;
  /** From the start of the command until the port accepts a connection. */
  coldStartMs: number;
  /** Of the process and its children. */
  cpuSeconds(): number;
  /** Proportional set size of the process and its children: shared pages count once. */
  residentBytes(): number;
  stop(): Promise<void>;
}

const root = resolve(import.meta.dir, "../..");

interface Start {
  name: string;
  command: string[];
  port: number;
  folder: string;
  env?: Record<string, string>;
  dialect: Omit<PeerDialect, "address">;
}

export async function startPeer({
  name,
  command,
  port,
  folder,
  env = {},
  dialect,
}: Start): Promise<PeerServer> {
  const startedAt = performance.now();
  const child = Bun.spawn(command, {
    cwd: root,
    env: { ...process.env, ...env },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const coldStartMs = await untilListening(child, port, startedAt).catch(async (error: Error) => {
    child.kill("SIGKILL");
    throw new Error(`${name}: ${error.message}: ${(await new Response(child.stderr).text()).slice(-1_000)}`);
  });
  return {
    name,
    dialect: { address: `127.0.0.1:${port}`, ...dialect },
    coldStartMs,
    cpuSeconds: () => sum(treeOf(child.pid), cpuMsOf) / 1000,
    residentBytes: () => sum(treeOf(child.pid), pssBytesOf),
    async stop() {
      for (const pid of treeOf(child.pid)) process.kill(pid, "SIGKILL");
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function sum(pids: number[], figure: (pid: number) => number): number {
  return pids.reduce((total, pid) => total + figure(pid), 0);
}
