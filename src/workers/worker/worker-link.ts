import type { Socket } from "bun";
import type { LogName, Receipts } from "../../bus/log.ts";
import type { GatewayKeys } from "../../config/gateway-keys.ts";
import { Fault } from "../../errors.ts";
import { type Frame, FrameReader, FrameWriter } from "../frame-socket.ts";
import {
  type CallName,
  type Calls,
  type FromWorker,
  maxFrameBytes,
  type Question,
  type ToWorker,
  type WorkerNote,
  type WorkerServing,
} from "../protocol.ts";

/** Receives what the supervisor sends in order. A batch is handled before anything that arrived after it. */
export interface LinkEvents {
  /** Handles records that arrived together; the promise, if any, resolves when they are handled. */
  records(topic: LogName, records: RecordFrame[]): Receipts | Promise<Receipts>;
  caughtUp(): void;
}

export interface RecordFrame {
  offset: number;
  ageMs: number;
  body: Buffer;
}

/** Reading stops above this, until the records that arrived were handled. */
const maxWaitingBytes = 32 * 1024 * 1024;

interface Pending {
  resolve(result: unknown): void;
  reject(fault: Fault): void;
}

/** The connection of a worker to its supervisor. A worker does not run without it. */
export class WorkerLink {
  readonly #reader = new FrameReader<ToWorker>();
  readonly #pending = new Map<number, Pending>();
  readonly #waiting: Frame<ToWorker>[] = [];
  #socket: Socket<unknown> | undefined;
  #writer: FrameWriter | undefined;
  #events: LinkEvents | undefined;
  #calls = 0;
  #waitingBytes = 0;
  #isPaused = false;
  #isHandling = false;
  #note: WorkerNote = {};
  #isNoteScheduled = false;
  #onClientMessage: (body: Buffer) => void = () => {};
  #onListeners: (count: number) => void = () => {};
  #answer: (question: Question) => unknown = () => null;
  #onKeys: (keys: GatewayKeys) => void = () => {};
  #onDrain: () => void = () => {};
  #onStop: () => void = () => {};

  /** Streams of client messages on other workers. */
  remoteListeners = 0;

  /** Rejects if the supervisor does not accept the secret. `onEnd` is called when the connection ends later. */
  static async connect(path: string, secret: string, onEnd: () => void): Promise<WorkerLink> {
    const link = new WorkerLink();
    link.#socket = await Bun.connect({
      unix: path,
      socket: {
        data: (_, chunk) => link.#read(chunk),
        drain: () => link.#writer?.flush(),
        close: onEnd,
        error: onEnd,
      },
    });
    link.#writer = new FrameWriter(link.#socket);
    link.send({ type: "hello", secret });
    // At once: what the worker loads next may take seconds, and the supervisor does not wait for long.
    link.#writer.flush();
    return link;
  }

  send(header: FromWorker, body?: Uint8Array): void {
    this.#writer?.send(header, body);
  }

  /** Call before the first `call`, because answers are handled in order with records. */
  attach(events: LinkEvents): void {
    this.#events = events;
  }

  onQuestion(answer: (question: Question) => unknown): void {
    this.#answer = answer;
  }

  onClientMessage(receive: (body: Buffer) => void): void {
    this.#onClientMessage = receive;
  }

  onListeners(receive: (count: number) => void): void {
    this.#onListeners = receive;
  }

  onKeys(replace: (keys: GatewayKeys) => void): void {
    this.#onKeys = replace;
  }

  onDrain(drain: () => void): void {
    this.#onDrain = drain;
  }

  call<Name extends CallName>(name: Name, args: Calls[Name]["args"]): Promise<Calls[Name]["result"]> {
    return this.#request((call) => this.send({ type: "call", call, name, args }));
  }

  append(topic: LogName, body: Uint8Array): Promise<number> {
    return this.#request((call) => this.send({ type: "append", call, topic }, body));
  }

  /** Changes of one turn of the event loop are sent together, and before anything that this turn causes elsewhere. */
  note(change: (note: WorkerNote) => void): void {
    change(this.#note);
    if (this.#isNoteScheduled) return;
    this.#isNoteScheduled = true;
    queueMicrotask(() => {
      this.#isNoteScheduled = false;
      const note = this.#note;
      this.#note = {};
      this.send({ type: "note", note });
    });
  }

  serving(serving: WorkerServing): void {
    this.send({ type: "serving", serving });
  }

  /** Resolves when all workers have drained. */
  drained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onStop = resolve;
    this.send({ type: "drained" });
    return promise;
  }

  #request<Result>(send: (call: number) => void): Promise<Result> {
    const call = ++this.#calls;
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#pending.set(call, { resolve: resolve as (result: unknown) => void, reject });
    send(call);
    return promise;
  }

  #read(chunk: Uint8Array): void {
    for (const frame of this.#reader.read(chunk, maxFrameBytes) ?? []) {
      // A ping asks whether the event loop runs, so it does not wait for records.
      if (frame.header.type === "ping") this.send({ type: "pong" });
      else {
        this.#waiting.push(frame);
        this.#waitingBytes += frame.body.length;
      }
    }
    this.#handleWaiting();
    this.#pauseIfFull();
  }

  #pauseIfFull(): void {
    const isFull = this.#waitingBytes > maxWaitingBytes;
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.#socket?.pause();
    else this.#socket?.resume();
  }

  #handleWaiting(): void {
    let at = 0;
    while (at < this.#waiting.length && !this.#isHandling) {
      const frame = this.#waiting[at] as Frame<ToWorker>;
      if (frame.header.type === "record") at = this.#handleBatch(frame.header.topic, at);
      else {
        at++;
        this.#handle(frame);
      }
    }
    for (const { body } of this.#waiting.splice(0, at)) this.#waitingBytes -= body.length;
  }

  /** Handles the records of one log that follow each other. Returns the place after them. */
  #handleBatch(topic: LogName, from: number): number {
    const records: RecordFrame[] = [];
    let at = from;
    for (; at < this.#waiting.length; at++) {
      const { header, body } = this.#waiting[at] as Frame<ToWorker>;
      if (header.type !== "record" || header.topic !== topic) break;
      records.push({ offset: header.offset, ageMs: header.ageMs, body });
    }
    const end = (receipts: Receipts) => {
      const counts = records.flatMap(({ offset }, index) => {
        const count = receipts?.[index] ?? 0;
        return count > 0 ? [offset, count] : [];
      });
      this.send({ type: "handled", offset: records.at(-1)?.offset ?? 0, counts });
    };
    const handling = this.#events?.records(topic, records);
    if (!(handling instanceof Promise)) {
      end(handling);
      return at;
    }
    this.#isHandling = true;
    void handling.then(end).finally(() => {
      this.#isHandling = false;
      this.#handleWaiting();
      this.#pauseIfFull();
    });
    return at;
  }

  #handle({ header, body }: Frame<ToWorker>): void {
    switch (header.type) {
      case "result":
        this.#settle(header.call)?.resolve(header.result);
        break;
      case "failed":
        this.#settle(header.call)?.reject(new Fault("unavailable", header.reason, { retryAfterSeconds: 1 }));
        break;
      case "query":
        void this.#answerTo(header.query, header.question);
        break;
      case "caughtUp":
        this.#events?.caughtUp();
        break;
      case "client":
        this.#onClientMessage(body);
        break;
      case "listeners":
        this.remoteListeners = header.count;
        this.#onListeners(header.count);
        break;
      case "keys":
        this.#onKeys(header.keys);
        break;
      case "drain":
        this.#onDrain();
        break;
      case "stop":
        this.#onStop();
        break;
    }
  }

  #settle(call: number): Pending | undefined {
    const pending = this.#pending.get(call);
    this.#pending.delete(call);
    return pending;
  }

  async #answerTo(query: number, question: Question): Promise<void> {
    this.send({ type: "answer", query, answer: await this.#answer(question) });
  }
}
