import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** A measured server: a separate process whose cost is read from the kernel. */
export interface ServerProcess {
  name: string;
  pid: number;
  url: string;
  /** User and system time of all its threads since it started. */
  cpuSeconds(): number;
  /** Resident memory of the process; the kernel's socket buffers are not part of it. */
  residentBytes(): number;
  stop(): Promise<void>;
}

const root = resolve(import.meta.dir, "..");
const bun = process.execPath;
const ticksPerSecond = 100;

/** User and system time of all threads of a process since it started. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field, the command in brackets, may contain spaces, so parsing starts at the third.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Starts a server that prints `ready at <url>` when it listens. */
export async function startServer(
  name: string,
  command: string[],
  env: Record<string, string> = {},
): Promise<ServerProcess> {
  const child = Bun.spawn(command, {
    cwd: root,
    env: { ...process.env, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const url = await Promise.race([readyUrl(child.stdout), readyUrl(child.stderr)]).catch(() => undefined);
  if (!url) throw new Error(`${name} did not start: ${command.join(" ")}`);
  return {
    name,
    pid: child.pid,
    url,
    cpuSeconds: () => cpuSecondsOf(child.pid),
    residentBytes: () =>
      Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) * 1024,
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

function readyUrl(stream: ReadableStream<Uint8Array>): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const read = async () => {
      const decoder = new TextDecoder();
      for await (const piece of stream) {
        if (text.length > 100_000) continue;
        text += decoder.decode(piece);
        const url = /ready at (http:\/\/[\w.:]+)/.exec(text)?.[1];
        if (url) resolve(url);
      }
    };
    read().finally(() => setTimeout(() => reject(new Error(text)), 1_000));
  });
}

export function startVerifyService(): Promise<ServerProcess> {
  return startServer("verify service", [bun, "bench/peers/verify-service.ts"]);
}

/** The push role with its defaults, except for limits that the benchmarks would hit. */
export async function startSlipway(
  verifyUri: string,
  env: Record<string, string> = {},
): Promise<ServerProcess> {
  const folder = mkdtempSync(join(tmpdir(), "slipway-bench-"));
  const server = await startServer("Slipway", [bun, "src/main.ts", "push"], {
    SLIPWAY_SERVER_LISTEN: "127.0.0.1:0",
    SLIPWAY_DATA_DIR: folder,
    SLIPWAY_PUSH_VERIFY_URI: verifyUri,
    SLIPWAY_PUSH_CONNECT_RATE: "1000000",
    // The load generators answer no pings.
    SLIPWAY_PUSH_PING_INTERVAL: "20m",
    SLIPWAY_PUSH_PONG_TIMEOUT: "30m",
    SLIPWAY_LOG_LEVEL: "warn",
    ...env,
  });
  return {
    ...server,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function startBareBun(verifyUri?: string): Promise<ServerProcess> {
  const env: Record<string, string> = verifyUri ? { VERIFY_URI: verifyUri } : {};
  return startServer("Bun, bare", [bun, "bench/peers/bare-bun.ts"], env);
}

/** As `startBareBun`, and a publish to one user reaches that user. */
export function startDeliveringBun(verifyUri?: string): Promise<ServerProcess> {
  const env: Record<string, string> = verifyUri ? { VERIFY_URI: verifyUri } : {};
  return startServer("Bun, bare, that delivers", [bun, "bench/peers/bare-bun.ts"], { ...env, DELIVER: "1" });
}

export function startNodeWs(): Promise<ServerProcess> {
  return startServer("Node with ws", ["node", "bench/peers/node-ws.mjs"]);
}

/** Compiles the peer in C first. */
export async function startOneSend(): Promise<ServerProcess> {
  const folder = mkdtempSync(join(tmpdir(), "slipway-bench-"));
  const program = join(folder, "one-send");
  const compiled = Bun.spawnSync(["gcc", "-O2", "-o", program, "bench/peers/one-send.c"], { cwd: root });
  if (compiled.exitCode !== 0)
    throw new Error(`gcc is needed for the peer in C: ${compiled.stderr.toString()}`);
  const server = await startServer("C, one send per socket", [program]);
  rmSync(folder, { recursive: true, force: true });
  return server;
}
