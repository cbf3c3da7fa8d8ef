import { resolve } from "node:path";
import type { ClientKind } from "./raw-client.ts";

/** A command for a load generator. */
export type Order =
  | { type: "hold"; url: string; count: number; prefix: string; atOnce: number; kind?: ClientKind }
  /** Makes own codes, which the next `holdIssued` uses up. */
  | { type: "issue"; url: string; token: string; count: number; atOnce: number }
  /** Signs JWTs as codes, which the next `holdIssued` uses up. */
  | { type: "sign"; secret: string; count: number }
  | { type: "holdIssued"; url: string; atOnce: number }
  | { type: "release" }
  | {
      type: "broadcast";
      url: string;
      messages: number;
      burst: number;
      dataBytes: number;
      pauseMs: number;
      /** Of the connections that are held. */
      kind?: ClientKind;
    }
  /** Publishes one text to all these users, in one request. */
  | { type: "batch"; url: string; prefix: string; users: number; dataBytes: number }
  | {
      type: "target";
      url: string;
      requests: number;
      atOnce: number;
      prefix: string;
      users: number;
      dataBytes: number;
      /** Whether the clients are asked to acknowledge. */
      ack?: boolean;
    };

export interface OrderResult {
  /** Connections opened, deliveries seen or requests answered. */
  count: number;
  failed: number;
  seconds: number;
  error?: string;
}

/** A load generator: a separate process that runs one order at a time. */
export interface LoadGenerator<O, R> {
  pid: number;
  run(order: O): Promise<R>;
  stop(): Promise<void>;
}

export type LoadProcess = LoadGenerator<Order, OrderResult>;

export function startLoad(): LoadProcess {
  return startGenerator("load/worker.ts");
}

/** Starts a program that answers each order, sent by IPC, with a result. */
export function startGenerator<O, R extends { error?: string }>(program: string): LoadGenerator<O, R> {
  let answer: { resolve(result: R): void; reject(error: Error): void } | undefined;
  const child = Bun.spawn([process.execPath, resolve(import.meta.dir, program)], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    ipc: (message) => answer?.resolve(message as R),
    onExit: () => answer?.reject(new Error(`${program} ended`)),
  });
  return {
    pid: child.pid,
    async run(order) {
      const result = await new Promise<R>((resolve, reject) => {
        answer = { resolve, reject };
        child.send(order);
      });
      answer = undefined;
      if (result.error) throw new Error(`${program}: ${result.error}`);
      return result;
    },
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
