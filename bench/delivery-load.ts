import { resolve } from "node:path";

/** What the load generator of deliveries is told to do. */
export interface DeliveryOrder {
  url: string;
  targets: { path: string; secret: string }[];
  requests: number;
  /** Number of the first request, so that no two rounds send the same. */
  from: number;
  atOnce: number;
  /** 0: as fast as they are answered. */
  perSecond: number;
  expectedStatus: number;
}

export interface DeliveryResult {
  answered: number;
  failed: number;
  seconds: number;
  latenciesMs: number[];
  statuses: Record<number, number>;
  error?: string;
}

export interface DeliveryLoad {
  run(order: DeliveryOrder): Promise<DeliveryResult>;
  stop(): Promise<void>;
}

export function startDeliveryLoad(): DeliveryLoad {
  let answer: ((result: DeliveryResult) => void) | undefined;
  const child = Bun.spawn([process.execPath, resolve(import.meta.dir, "load/delivery-worker.ts")], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    ipc: (message) => answer?.(message as DeliveryResult),
  });
  return {
    async run(order) {
      const result = await new Promise<DeliveryResult>((done) => {
        answer = done;
        child.send(order);
      });
      if (result.error) throw new Error(result.error);
      if (result.failed > 0) throw new Error(`unexpected answers: ${JSON.stringify(result.statuses)}`);
      return result;
    },
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
