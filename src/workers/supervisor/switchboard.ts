import type { Socket, UnixSocketListener } from "bun";
import type { Clock } from "../../clock.ts";
import type { Logger } from "../../logger.ts";
import { isSameSecret } from "../../secrets.ts";
import { type Frame, FrameReader, FrameWriter } from "../frame-socket.ts";
import {
  type Calls,
  type FromWorker,
  maxFrameBytes,
  maxHelloBytes,
  type Question,
  type ToWorker,
  type WorkerAnswers,
  type WorkerServing,
} from "../protocol.ts";
import { DistinctNames } from "./distinct-names.ts";
import type { InstanceLimits } from "./instance-limits.ts";
import type { Receiver, SharedLog } from "./shared-log.ts";

/** A worker that has shown its secret. */
export interface Peer extends Receiver {
  serving: WorkerServing | null;
  isDrained: boolean;
  answeredAtMs: number;
  readonly queuedBytes: number;
  /** Streams of client messages. */
  listeners: number;
}

export interface SwitchboardParts {
  logs: SharedLog;
  limits: InstanceLimits;
  metrics: (answers: WorkerAnswers) => Promise<Calls["metrics"]["result"]>;
  /** Number of workers that the instance has when all of them run. */
  workers: number;
  /** Whether the instance is stopping. */
  isDraining: () => boolean;
  onServing: (worker: number) => void;
  onDrained: () => void;
  clock: Clock;
  log: Logger;
}

interface Connection {
  readonly reader: FrameReader<FromWorker>;
  readonly writer: FrameWriter;
  peer: Peer | null;
  helloTimer: ReturnType<typeof setTimeout>;
}

/** As long as a worker may be silent later: on a busy machine it may get no time between its connection and its hello. */
const helloWithinMs = 10_000;
/** Connections without a secret on top of one for each worker: all workers may connect before the first hello is read. */
const spareConnections = 16;
/** A worker that does not answer a question is left out. */
const answerWithinMs = 2_000;
/** Above this many unsent bytes to a worker, publishes are refused. */
const maxUnsentBytes = 64 * 1024 * 1024;
const maxUnfinished = 50_000;

/** Serves the socket of the workers: carries their messages, and answers for all of them together. */
export class Switchboard {
  readonly #parts: SwitchboardParts;
  readonly #peers = new Map<number, Peer>();
  /** Secrets that were given to workers and not used yet. */
  readonly #secrets = new Map<number, string>();
  readonly #questions = new Map<number, { worker: number; answer(value: unknown): void }>();
  readonly #names = {
    users: new DistinctNames(),
    online: new DistinctNames(),
    channels: new DistinctNames(),
  };
  readonly #strangers = new Set<Socket<Connection>>();
  #listener: UnixSocketListener<Connection> | undefined;
  #queries = 0;

  constructor(parts: SwitchboardParts) {
    this.#parts = parts;
  }

  get peers(): IterableIterator<Peer> {
    return this.#peers.values();
  }

  listen(path: string): void {
    this.#listener = Bun.listen<Connection>({
      unix: path,
      socket: {
        open: (socket) => this.#opened(socket),
        data: (socket, chunk) => this.#read(socket, chunk),
        drain: ({ data }) => data.writer.flush(),
        close: (socket) => this.#closed(socket),
        error: (socket) => socket.terminate(),
      },
    });
  }

  close(): void {
    this.#listener?.stop(true);
  }

  /** The secret admits one connection, which then is the worker's. */
  expect(worker: number, secret: string): void {
    this.#secrets.set(worker, secret);
  }

  send(worker: number, header: ToWorker): void {
    this.#peers.get(worker)?.send(header);
  }

  sendAll(header: ToWorker): void {
    for (const peer of this.#peers.values()) peer.send(header);
  }

  #opened(socket: Socket<Connection>): void {
    const helloTimer = setTimeout(() => socket.terminate(), helloWithinMs);
    socket.data = { reader: new FrameReader(), writer: new FrameWriter(socket), peer: null, helloTimer };
    this.#strangers.add(socket);
    if (this.#strangers.size > this.#parts.workers + spareConnections) socket.terminate();
  }

  #closed(socket: Socket<Connection>): void {
    const { peer, helloTimer } = socket.data;
    clearTimeout(helloTimer);
    this.#strangers.delete(socket);
    if (!peer || this.#peers.get(peer.worker) !== peer) return;
    const { logs, limits, isDraining, onDrained } = this.#parts;
    this.#peers.delete(peer.worker);
    for (const names of Object.values(this.#names)) names.removeWorker(peer.worker);
    limits.removeWorker(peer.worker);
    logs.leave(peer);
    for (const { worker, answer } of [...this.#questions.values()])
      if (worker === peer.worker) answer(undefined);
    this.#announceListeners();
    if (isDraining()) onDrained();
  }

  #read(socket: Socket<Connection>, chunk: Uint8Array): void {
    const { data } = socket;
    let frames: Frame<FromWorker>[] | null = null;
    try {
      frames = data.reader.read(chunk, data.peer ? maxFrameBytes : maxHelloBytes);
    } catch {
      // Not a frame: this connection is not one of a worker.
    }
    if (frames === null) return void socket.terminate();
    for (const { header, body } of frames) {
      if (data.peer) this.#handle(data.peer, header, body);
      else if (!this.#admit(socket, header)) return;
    }
  }

  #admit(socket: Socket<Connection>, header: FromWorker): boolean {
    const given = header?.type === "hello" && typeof header.secret === "string" ? header.secret : "";
    const found = [...this.#secrets].find(([, secret]) => isSameSecret(given, secret));
    if (!found) {
      this.#parts.log.warn("refused a connection to the socket of the workers that did not show the secret");
      socket.terminate();
      return false;
    }
    const [worker] = found;
    this.#secrets.delete(worker);
    clearTimeout(socket.data.helloTimer);
    this.#strangers.delete(socket);
    const { writer } = socket.data;
    const peer: Peer = {
      worker,
      serving: null,
      isDrained: false,
      answeredAtMs: this.#parts.clock.now(),
      listeners: 0,
      get queuedBytes() {
        return writer.queuedBytes;
      },
      send: (toWorker, body) => writer.send(toWorker, body),
    };
    socket.data.peer = peer;
    this.#peers.set(worker, peer);
    this.#announceListeners();
    return true;
  }

  #handle(peer: Peer, header: FromWorker, body: Buffer): void {
    const { logs, onServing, onDrained, clock } = this.#parts;
    switch (header.type) {
      case "read":
        logs.read(peer);
        break;
      case "append":
        this.#append(peer, header, body);
        break;
      case "handled":
        logs.handled(peer, header.offset, header.counts);
        break;
      case "call":
        this.#call(peer, header);
        break;
      case "answer":
        this.#questions.get(header.query)?.answer(header.answer);
        break;
      case "note":
        this.#note(peer, header.note);
        break;
      case "client":
        for (const other of this.#peers.values())
          if (other !== peer && other.listeners > 0) other.send({ type: "client" }, body);
        break;
      case "serving":
        peer.serving = header.serving;
        onServing(peer.worker);
        break;
      case "drained":
        peer.isDrained = true;
        onDrained();
        break;
      case "pong":
        peer.answeredAtMs = clock.now();
        break;
    }
  }

  #append(peer: Peer, { call, topic }: Extract<FromWorker, { type: "append" }>, body: Buffer): void {
    const { logs } = this.#parts;
    const isFull =
      logs.unfinished >= maxUnfinished ||
      [...this.#peers.values()].some((each) => each.queuedBytes + logs.waitingBytes(each) > maxUnsentBytes);
    // Control messages are few and small, and others rely on them.
    if (isFull && topic === "broadcast") {
      peer.send({
        type: "failed",
        call,
        reason: "Too many messages wait to be delivered; try again in a second.",
      });
      return;
    }
    logs.append(topic, body, (affected) => peer.send({ type: "result", call, result: affected }));
  }

  #call(peer: Peer, { call, name, args }: Extract<FromWorker, { type: "call" }>): void {
    const { limits, logs } = this.#parts;
    const reply = (result: unknown) => peer.send({ type: "result", call, result });
    switch (name) {
      case "enter":
        // A client that resumes may have seen any record that is in the log now.
        logs.sendWaiting(peer);
        reply(limits.enter(peer.worker, args as Calls["enter"]["args"]));
        break;
      case "confirm":
        reply(limits.confirm(peer.worker, (args as Calls["confirm"]["args"]).userId));
        break;
      case "askAll":
        void this.#askAll((args as Calls["askAll"]["args"]).question).then(reply);
        break;
      case "metrics":
        void this.#metrics().then(reply);
        break;
      case "missing":
        void this.missing().then(reply);
        break;
    }
  }

  async #metrics(): Promise<Calls["metrics"]["result"]> {
    return this.#parts.metrics(await this.#askAll({ about: "metrics" }));
  }

  /** What is missing until every worker is ready; null: nothing. */
  async missing(): Promise<string | null> {
    if (this.#parts.isDraining()) return "draining";
    const serving = [...this.#peers.values()].filter((peer) => peer.serving !== null).length;
    const { workers } = this.#parts;
    if (serving < workers) return `workers: ${serving} of ${workers} serve`;
    const { answers } = await this.#askAll({ about: "missing" });
    if (answers.length < workers) return `workers: ${answers.length} of ${workers} answer`;
    const missing = answers.filter((answer) => typeof answer === "string");
    return missing.length === 0 ? null : [...new Set(missing)].join("\n");
  }

  async #askAll(question: Question): Promise<WorkerAnswers> {
    const asked = [...this.#peers.values()].filter(({ serving }) => serving !== null);
    const answers = await Promise.all(asked.map((peer) => this.#ask(peer, question)));
    return {
      answers: answers.filter((answer) => answer !== undefined),
      names: {
        users: this.#names.users.size,
        online: this.#names.online.size,
        channels: this.#names.channels.size,
      },
      published: this.#parts.logs.broadcasts,
    };
  }

  #ask(peer: Peer, question: Question): Promise<unknown> {
    const query = ++this.#queries;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => resolve(undefined), answerWithinMs);
    this.#questions.set(query, { worker: peer.worker, answer: resolve });
    peer.send({ type: "query", query, question });
    return promise.finally(() => {
      clearTimeout(timer);
      this.#questions.delete(query);
    });
  }

  #note(peer: Peer, note: Extract<FromWorker, { type: "note" }>["note"]): void {
    const { limits } = this.#parts;
    for (const kind of ["users", "online", "channels"] as const)
      this.#names[kind].change(peer.worker, note[kind] ?? []);
    for (const userId of note.left ?? []) limits.leave(peer.worker, userId);
    if (note.listeners === undefined) return;
    peer.listeners = note.listeners;
    this.#announceListeners();
  }

  #announceListeners(): void {
    const peers = [...this.#peers.values()];
    const total = peers.reduce((sum, { listeners }) => sum + listeners, 0);
    for (const peer of peers) peer.send({ type: "listeners", count: total - peer.listeners });
  }
}
