import type { Bus, BusState } from "../../bus/bus.ts";
import { InFlight } from "../../bus/in-flight.ts";
import type { Log, LogFigures, LogName, LogReader, LogRecord, Receipts } from "../../bus/log.ts";
import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { parseJson } from "../../json.ts";
import type { Logger } from "../../logger.ts";
import type { LinkEvents, RecordFrame, WorkerLink } from "./worker-link.ts";

export interface WorkerBusOptions {
  log: Logger;
  clock: Clock;
}

const appendDeadlineMs = 4_500;
const maxInFlight = 10_000;
const maxInFlightBytes = 64 * 1024 * 1024;

/**
 * The logs of the supervisor, over its socket. Every worker, also the appending one, reads all records in the same order.
 * None is lost: a worker ends with its connection.
 */
export class WorkerBus implements Bus, LinkEvents {
  readonly name = "workers";
  readonly isCluster = false;
  readonly broadcast: WorkerLog;
  readonly control: WorkerLog;
  readonly #link: WorkerLink;
  readonly #inFlight: InFlight;
  readonly #listeners: ((state: BusState) => void)[] = [];
  #isLive = false;

  constructor(link: WorkerLink, { log, clock }: WorkerBusOptions) {
    this.#link = link;
    this.#inFlight = new InFlight({
      maxCount: maxInFlight,
      maxBytes: maxInFlightBytes,
      deadlineMs: appendDeadlineMs,
      clock,
      onSilence() {},
    });
    const append = (topic: LogName, body: Buffer) => this.#append(topic, body);
    this.broadcast = new WorkerLog("broadcast", append, log);
    this.control = new WorkerLog("control", append, log);
    link.attach(this);
  }

  /** Without a broker there are no other services that could read it. */
  async publish(): Promise<void> {}

  start(): void {
    this.#link.send({ type: "read" });
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
    await this.#inFlight.drained();
    this.#inFlight.stop();
  }

  records(topic: LogName, records: RecordFrame[]): Receipts | Promise<Receipts> {
    return this[topic].receive(records);
  }

  caughtUp(): void {
    this.#isLive = true;
    this.broadcast.caughtUp();
    this.control.caughtUp();
    for (const listener of this.#listeners) listener(this.state());
  }

  async #append(topic: LogName, body: Buffer): Promise<number> {
    let affected = 0;
    await this.#inFlight.run(body.length, async () => {
      affected = await this.#link.append(topic, body);
    });
    return affected;
  }
}

class WorkerLog implements Log {
  readonly #topic: LogName;
  readonly #appendBody: (topic: LogName, body: Buffer) => Promise<number>;
  readonly #log: Logger;
  readonly #createdAtMs = performance.now();
  #reader: LogReader | undefined;
  #offset = -1;
  #oldestOffset = -1;
  #startingReadSeconds = 0;

  constructor(topic: LogName, append: (topic: LogName, body: Buffer) => Promise<number>, log: Logger) {
    this.#topic = topic;
    this.#appendBody = append;
    this.#log = log;
  }

  append(value: { id: string }): Promise<number> {
    return this.#appendBody(this.#topic, Buffer.from(JSON.stringify(value)));
  }

  /** The window is that of the supervisor. */
  read(_windowMs: number, reader: LogReader): void {
    this.#reader = reader;
  }

  figures(): LogFigures {
    return {
      offset: this.#offset,
      lagRecords: 0,
      lagSeconds: 0,
      oldestOffset: this.#oldestOffset,
      startingReadSeconds: this.#startingReadSeconds,
    };
  }

  receive(frames: RecordFrame[]): Receipts | Promise<Receipts> {
    const records = frames.map(recordOf);
    if (this.#oldestOffset < 0) this.#oldestOffset = records[0]?.offset ?? -1;
    this.#offset = records.at(-1)?.offset ?? this.#offset;
    try {
      const handling = this.#reader?.receive(records);
      return handling instanceof Promise ? handling.catch((error) => this.#failed(error)) : handling;
    } catch (error) {
      return this.#failed(error);
    }
  }

  caughtUp(): void {
    this.#startingReadSeconds = (performance.now() - this.#createdAtMs) / 1000;
    this.#reader?.caughtUp();
  }

  #failed(error: unknown): undefined {
    this.#log.error({ error: messageOf(error) }, "records of other workers could not be handled");
    this.#reader?.lost();
    return undefined;
  }
}

function recordOf({ offset, ageMs, body }: RecordFrame): LogRecord {
  const value = parseJson(body.toString()) as { id: string };
  return { offset, id: value.id, ageMs, value };
}
