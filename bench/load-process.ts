import { resolve } from "node:path";

/** What a load generator can be told to do. */
export type Order =
  | { type: "hold"; url: string; count: number; prefix: string; atOnce: number }
  | { type: "release" }
  | { type: "broadcast"; url: string; messages: number; burst: number; dataBytes: number; pauseMs: number }
  | {
      type: "target";
      url: string;
      requests: number;
      atOnce: number;
      prefix: string;
      users: number;
      dataBytes: number;
    };

export interface OrderResult {
  /** Connections opened, deliveries seen or requests answered. */
  count: number;
  failed: number;
  seconds: number;
  error?: string;
}

export interface LoadProcess {
  pid: number;
  run(order: Order): Promise<OrderResult>;
  stop(): Promise<void>;
}

export function startLoad(): LoadProcess {
  let answer: ((result: OrderResult) => void) | undefined;
  const child = Bun.spawn([process.execPath, resolve(import.meta.dir, "load/worker.ts")], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    ipc: (message) => answer?.(message as OrderResult),
    onExit: () => answer?.({ count: 0, failed: 1, seconds: 0, error: "the load generator ended" }),
  });
  return {
    pid: child.pid,
    async run(order) {
      const result = await new Promise<OrderResult>((resolve) => {
        answer = resolve;
        child.send(order);
      });
      answer = undefined;
      if (result.error) throw new Error(`${order.type}: ${result.error}`);
      return result;
    },
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
