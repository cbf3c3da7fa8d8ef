import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { main } from "./program.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** `slipway push` as a separate process, which a test may kill and restart with the same name and address. */
export interface PushProcess {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  isRunning(): boolean;
  exitCode(): number | null;
  /** The end of its output. */
  output(): string;
  isReady(): Promise<boolean>;
  start(): Promise<void>;
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  get<T>(path: string): Promise<T>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

const outputBytes = 20_000;
const readyDeadlineMs = 60_000;

export async function startPushProcess(
  name: string,
  settings: Record<string, string>,
  command: readonly string[] = [process.execPath, main],
): Promise<PushProcess> {
  const dataDir = temporaryFolder(name);
  const address = `127.0.0.1:${freePort()}`;
  const flags = {
    "server-listen": address,
    "data-dir": dataDir,
    "push-connect-rate": "0",
    "push-drain-delay": "0s",
    "push-drain-period": "1s",
    "log-format": "json",
    ...settings,
  };
  let child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  let output = "";
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    for await (const piece of stream) output = (output + Buffer.from(piece)).slice(-outputBytes);
  };
  const instance: PushProcess = {
    name,
    url: `http://${address}`,
    get pid() {
      return child.pid;
    },
    output: () => output,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    isReady: async () => {
      const answer = await fetch(`http://${address}/readyz`).catch(() => null);
      return answer?.status === 200;
    },
    exitCode: () => child.exitCode,
    async start() {
      child = Bun.spawn(
        [...command, "push", ...Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value])],
        { stdin: "ignore", stdout: "pipe", stderr: "pipe" },
      );
      void collect(child.stdout);
      void collect(child.stderr);
      await eventually(
        `${name} is ready`,
        async () => {
          if (!instance.isRunning()) throw new Error(`${name} ended: ${output}`);
          return instance.isReady();
        },
        readyDeadlineMs,
      ).catch((error: Error) => {
        throw new Error(`${error.message}\n${output}`);
      });
    },
    async end(signal) {
      child.kill(signal);
      await child.exited;
    },
    async get<T>(path: string) {
      return (await (await fetch(`http://${address}${path}`)).json()) as T;
    },
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
  await instance.start();
  return instance;
}
