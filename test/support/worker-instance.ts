import { readFileSync } from "node:fs";
import { workerCommand } from "../../src/app/worker-count.ts";
import { PushClient } from "./push-client.ts";
import { type PushProcess, startPushProcess } from "./push-process.ts";

/** `slipway push` with several workers. */
export interface WorkerInstance extends PushProcess {
  /** Process ids of the workers, in order of their start. */
  workerPids(): number[];
  /** A call on a connection of its own, so that any worker may answer it. */
  call(path: string, init?: RequestInit): Promise<Response>;
  publish(body: object, headers?: Record<string, string>): Promise<Response>;
  /** Opens connections until each worker has one of them; returns one for each worker. */
  openOnEach(query: string, protocols?: string[]): Promise<PushClient[]>;
  open(query: string, protocols?: string[]): Promise<PushClient>;
}

export const v1 = ["slipway.v1"];
const maxAttempts = 200;

export async function startWorkers(
  workers: number,
  settings: Record<string, string>,
): Promise<WorkerInstance> {
  const push = await startPushProcess("workers", { "push-workers": String(workers), ...settings });
  const wsUrl = `${push.url.replace("http", "ws")}/ws`;
  const instance = Object.create(push) as WorkerInstance;
  return Object.assign(instance, {
    workerPids: () => childrenOf(push.pid).filter(isWorker),
    call: (path: string, init: RequestInit = {}) => fetch(push.url + path, { ...init, keepalive: false }),
    publish: (body: object, headers: Record<string, string> = {}) =>
      instance.call("/feign/publish", {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    open: (query: string, protocols: string[] = []) => PushClient.open(`${wsUrl}?${query}`, protocols),
    async openOnEach(query: string, protocols: string[] = []) {
      const found = new Map<string, PushClient>();
      for (let attempt = 0; found.size < workers; attempt++) {
        if (attempt > maxAttempts) throw new Error("One worker gets no connections.");
        const client = await PushClient.open(`${wsUrl}?${query}`, [...v1, ...protocols]);
        const worker = await workerOf(client);
        if (!found.has(worker)) found.set(worker, client);
        else {
          client.close();
          await client.ended();
        }
      }
      return [...found.values()];
    },
  });
}

/** Connection ids begin with a name of the process that opened them. */
export async function workerOf(client: PushClient): Promise<string> {
  const [welcome] = await client.receivedType("welcome");
  return String(welcome?.connectionId).split("-")[0] ?? "";
}

/** An instance from changed sources has another child for a while, which builds the program. */
function isWorker(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(workerCommand);
  } catch {
    // It has ended.
    return false;
  }
}

export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text.split(" ").filter(Boolean).map(Number);
}

export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
