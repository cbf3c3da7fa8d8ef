import { join } from "node:path";
import {
  dataOf,
  type LoadConnection,
  type LoadCounts,
  type LoadMessage,
  type LoadRequest,
  type Reconciliation,
} from "./load-messages.ts";

/** Many clients in a separate process, so that they do not slow down the test. */
export class LoadClients {
  readonly #child: Bun.Subprocess;
  readonly #waiting = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>();
  #requests = 0;

  constructor() {
    this.#child = Bun.spawn([process.execPath, join(import.meta.dir, "load-client-process.ts")], {
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
      ipc: (message: { id: number; answer?: unknown; error?: string }) => {
        const waiting = this.#waiting.get(message.id);
        this.#waiting.delete(message.id);
        if (message.error === undefined) waiting?.resolve(message.answer);
        else waiting?.reject(new Error(message.error));
      },
      serialization: "advanced",
    });
  }

  open(connections: LoadConnection[]): Promise<LoadCounts> {
    return this.#ask({ type: "open", connections });
  }

  counts(): Promise<LoadCounts> {
    return this.#ask({ type: "counts" });
  }

  forget(): Promise<LoadCounts> {
    return this.#ask({ type: "forget" });
  }

  reconcile(confirmed: LoadMessage[], refused: LoadMessage[] = []): Promise<Reconciliation> {
    return this.#ask({ type: "reconcile", confirmed, refused });
  }

  async stop(): Promise<void> {
    this.#child.kill();
    await this.#child.exited;
  }

  #ask<Answer>(request: LoadRequest): Promise<Answer> {
    const id = ++this.#requests;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: (answer) => resolve(answer as Answer), reject });
      this.#child.send({ id, request });
    });
  }
}

interface Answered {
  status: number;
  ms: number;
}

/** Publishes by HTTP to several instances in turn, in order within a target, and keeps every response. */
export class LoadPublisher {
  readonly confirmed: LoadMessage[] = [];
  readonly refused: LoadMessage[] = [];
  readonly statuses = new Map<number, number>();
  slowestMs = 0;
  #number = 0;

  /** One message after the other; messages to one target must not go through two lanes at a time. */
  async publish(url: string, target: Omit<LoadMessage, "number">): Promise<void> {
    const message: LoadMessage = { number: ++this.#number, ...target };
    const { status, ms } = await post(url, message);
    this.slowestMs = Math.max(this.slowestMs, ms);
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    (status === 200 ? this.confirmed : this.refused).push(message);
  }

  /** Repeats with an Idempotency-Key until it is confirmed, as a caller whose connection was lost does. */
  async publishUntilConfirmed(url: string, target: Omit<LoadMessage, "number">): Promise<void> {
    const message: LoadMessage = { number: ++this.#number, ...target };
    const key = { "idempotency-key": `load ${message.number}` };
    for (let status = 0; status !== 200; ) {
      ({ status } = await post(url, message, key));
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      // A refused publish is repeated, and not at once.
      if (status !== 200) await Bun.sleep(20);
    }
    this.confirmed.push(message);
  }
}

async function post(
  url: string,
  { number, targetType, target }: LoadMessage,
  headers: Record<string, string> = {},
): Promise<Answered> {
  const startedAt = performance.now();
  try {
    const answer = await fetch(`${url}/feign/publish`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ targetType, target, data: dataOf(number) }),
    });
    await answer.arrayBuffer();
    return { status: answer.status, ms: performance.now() - startedAt };
  } catch {
    // Connection refused: the instance is down.
    return { status: 0, ms: performance.now() - startedAt };
  }
}
