import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A temporary service that a test may kill or pause: its port and its data stay the same over `restart()`. */
export interface RunningService {
  readonly url: string;
  /** The process that does the work, not a wrapper around it. */
  readonly pid: number;
  /** kill -9, returns when the process is gone. The data folder stays. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  /** Starts it again on the same port and data folder (ends it first if it runs); returns when it serves. */
  restart(): Promise<void>;
  /** Ends it and removes its data folder. */
  stop(): Promise<void>;
}

export interface Launch {
  name: string;
  url: string;
  command: string[];
  env?: Record<string, string>;
  /** The user that it runs as, if not the current one. */
  user?: { uid: number; gid: number };
  /** Holds everything the service writes; removed by `stop()`. */
  folder: string;
  isReady(): Promise<boolean>;
  /** SIGKILL by default, because the data is deleted; another signal if the service would leave something behind. */
  stopSignal?: NodeJS.Signals;
  /** For a service that a signal to the child would not reach (a container). */
  signal?: (signal: NodeJS.Signals) => void;
  /** Ends helper processes of the service. */
  onStop?: () => void;
}

const readyDeadlineMs = 180_000;
const running = new Set<() => void>();

process.on("exit", stopAllNow);

/** For signal handlers and the end of the process, where nothing can be awaited. */
export function stopAllNow(): void {
  for (const stopNow of running) stopNow();
  running.clear();
}

/** Starts a service and returns when it serves. It ends with this process, however this process ends. */
export async function launch(options: Launch): Promise<RunningService> {
  const output: string[] = [];
  let child = spawn(options, output);
  const signal = options.signal ?? ((name: NodeJS.Signals) => child.kill(name));
  const stopNow = () => {
    signal("SIGCONT");
    signal(options.stopSignal ?? "SIGKILL");
    options.onStop?.();
    removeFolder(options.folder);
  };
  running.add(stopNow);

  const untilReady = async () => {
    const deadline = Date.now() + readyDeadlineMs;
    while (!(await options.isReady().catch(() => false))) {
      if (
        Date.now() > deadline ||
        (child.exitCode !== null && Date.now() > deadline - readyDeadlineMs + 30_000)
      ) {
        const state = child.exitCode === null ? "does not answer" : `ended with code ${child.exitCode}`;
        throw new Error(`${options.name} ${state}.\n${output.join("").slice(-4_000)}`);
      }
      // After kill -9 its children may still use the data folder for a moment: try again.
      if (child.exitCode !== null || child.signalCode !== null) child = spawn(options, output);
      // How often it looks.
      await Bun.sleep(100);
    }
  };
  const kill = async () => {
    signal("SIGKILL");
    await child.exited;
  };

  await untilReady();
  return {
    url: options.url,
    get pid() {
      return child.pid;
    },
    kill,
    pause() {
      signal("SIGSTOP");
      if (!options.signal) untilStopped(child.pid);
    },
    resume: () => signal("SIGCONT"),
    async restart() {
      await kill();
      child = spawn(options, output);
      await untilReady();
    },
    async stop() {
      running.delete(stopNow);
      stopNow();
      const insist = setTimeout(() => signal("SIGKILL"), 2_000);
      await child.exited;
      clearTimeout(insist);
      // Again: a service that was just ending may have written after the first removal.
      removeFolder(options.folder);
    },
  };
}

/** On a busy machine a thread may still answer for some milliseconds after the signal. */
function untilStopped(pid: number): void {
  const hasStopped = (thread: string) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
  };
  const deadline = performance.now() + 5_000;
  while (performance.now() < deadline && !readdirSync(`/proc/${pid}/task`).every(hasStopped))
    // How often it looks: the state of a process has no event.
    Bun.sleepSync(2);
}

function spawn(options: Launch, output: string[]) {
  const child = Bun.spawn([...endWithUs(options.stopSignal), ...options.command], {
    cwd: options.folder,
    ...options.user,
    env: { ...process.env, ...options.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    // A separate process group: Ctrl-C reaches only this process, which stops the service.
    detached: true,
  });
  for (const stream of [child.stdout, child.stderr]) void collect(stream, output);
  child.unref();
  return child;
}

/** The kernel ends the service when this process is killed. */
export function endWithUs(signal: NodeJS.Signals = "SIGKILL"): string[] {
  return Bun.which("setpriv") ? ["setpriv", "--pdeathsig", signal.replace("SIG", "")] : [];
}

const outputPieces = 200;

async function collect(stream: ReadableStream<Uint8Array>, output: string[]): Promise<void> {
  const decoder = new TextDecoder();
  for await (const piece of stream) {
    output.push(decoder.decode(piece));
    if (output.length > outputPieces) output.shift();
  }
}

const folderPrefix = `slipway-service-${process.pid}-`;

/** An empty folder for one service. Folders of dead processes are deleted first. */
export function serviceFolder(name: string): string {
  for (const entry of readdirSync(tmpdir())) {
    const owner = /^slipway-service-(\d+)-/.exec(entry)?.[1];
    if (owner && !isAlive(Number(owner))) removeFolder(join(tmpdir(), entry));
  }
  return mkdtempSync(join(tmpdir(), `${folderPrefix}${name}-`));
}

function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // It is still being written; the next serviceFolder() call of any process removes it.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Sends bytes and returns whether the peer answered: a port may be open before its service is ready. */
export function answers(port: number, request: Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(2_000, () => end(false));
    socket.once("connect", () => socket.write(request));
    socket.once("data", () => end(true));
    socket.once("error", () => end(false));
    socket.once("close", () => end(false));
  });
}
