import { BoundedMap } from "../../bounded-map.ts";
import type {
  Bus,
  BusHandler,
  BusMessage,
  BusState,
  Recall,
  Receipts,
  SharedTopic,
  Topic,
} from "../../bus/bus.ts";
import { InFlight } from "../../bus/in-flight.ts";
import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { parseJson } from "../../json.ts";
import type { Logger } from "../../logger.ts";
import type { LinkEvents, WorkerLink } from "./worker-link.ts";

export interface WorkerBusOptions {
  log: Logger;
  clock: Clock;
}

const publishDeadlineMs = 4_500;
const maxInFlight = 10_000;
const maxInFlightBytes = 64 * 1024 * 1024;

/**
 * The bus between the workers of one instance, over the supervisor's socket. The supervisor puts all messages into one
 * order, and every worker, also the publishing one, receives them in that order. None is lost: a worker ends with its
 * connection.
 */
export class WorkerBus implements Bus, LinkEvents {
  readonly name = "workers";
  readonly receipts: Receipts;
  readonly #link: WorkerLink;
  readonly #log: Logger;
  readonly #inFlight: InFlight;
  readonly #handlers = new Map<SharedTopic, BusHandler>();
  readonly #counts = new Map<string, number>();
  /** Sums over all workers, of publishes that are done. */
  readonly #sums = new BoundedMap<string, number>(maxInFlight);
  readonly #listeners: ((state: BusState) => void)[] = [];
  readonly #live = Promise.withResolvers<void>();
  #recall: Recall | undefined;
  #batchIds: string[] = [];
  #isLive = false;
  #isClosing = false;

  constructor(link: WorkerLink, { log, clock }: WorkerBusOptions) {
    this.#link = link;
    this.#log = log;
    this.#inFlight = new InFlight({
      maxCount: maxInFlight,
      maxBytes: maxInFlightBytes,
      deadlineMs: publishDeadlineMs,
      clock,
      onSilence() {},
    });
    this.receipts = {
      note: (id, connections) => {
        if (connections > 0) this.#counts.set(id, connections);
      },
      take: (id) => {
        const sum = this.#sums.get(id) ?? 0;
        this.#sums.delete(id);
        return sum;
      },
    };
    link.attach(this);
  }

  async publish(topic: Topic, _key: string, message: BusMessage): Promise<void> {
    // Without a broker there are no other services that could read it.
    if (topic === "client" || topic === "events") return;
    const body = Buffer.from(JSON.stringify(message));
    const { id, idempotencyKey } = message;
    const key = idempotencyKey === undefined ? {} : { key: idempotencyKey };
    await this.#inFlight.run(body.length, async () => {
      const sum = await this.#link.publish({ topic, id, ...key }, body);
      if (sum > 0) this.#sums.set(id, sum);
    });
  }

  accepts(topic: Topic): boolean {
    return (
      topic === "client" || topic === "events" || (this.#isLive && !this.#isClosing && !this.#inFlight.isFull)
    );
  }

  subscribe(topic: SharedTopic, handle: BusHandler, _onLoss?: () => void, recall?: Recall): void {
    this.#handlers.set(topic, handle);
    this.#recall ??= recall;
  }

  start(): void {
    if (!this.#isLive) this.#link.send({ type: "subscribe" });
  }

  /** Resolves when this worker has the kept messages and receives all new ones. */
  get isCaughtUp(): Promise<void> {
    return this.#live.promise;
  }

  state(): BusState {
    return this.#isLive
      ? { ready: true, detail: "connected to the other workers" }
      : { ready: false, detail: "waiting for the messages of the other workers" };
  }

  onStateChange(listener: (state: BusState) => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#inFlight.drained();
    this.#inFlight.stop();
  }

  kept(body: Buffer, position: number, ageMs: number): void {
    this.#recall?.handleKept?.(parseJson(body.toString()), { position, ageMs });
  }

  live(position: number): void {
    this.#recall?.endKept?.(position);
    this.#isLive = true;
    for (const listener of this.#listeners) listener(this.state());
    this.#live.resolve();
  }

  messages(topic: SharedTopic, bodies: Buffer[]): void | Promise<void> {
    const messages = bodies.map((body) => parseJson(body.toString()));
    this.#batchIds = messages.map((message) => (message as BusMessage).id);
    try {
      const handling = this.#handlers.get(topic)?.(messages);
      if (handling) return handling.catch((error) => this.#report(error));
    } catch (error) {
      this.#report(error);
    }
  }

  takeCounts(): number[] {
    const counts: number[] = [];
    for (const [index, id] of this.#batchIds.entries()) {
      const count = this.#counts.get(id);
      if (count !== undefined) counts.push(index, count);
    }
    this.#counts.clear();
    return counts;
  }

  #report(error: unknown): void {
    this.#log.error({ error: messageOf(error) }, "messages of other workers could not be handled");
  }
}
