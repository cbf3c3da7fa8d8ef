import { isMarker, type Log, type LogReader, type LogRecord, type Receipts } from "../bus/log.ts";
import { writtenVersion } from "../bus/record-version.ts";
import { isConsoleUser } from "../model/console/console-names.ts";
import type { ClusterAnswers, ClusterQuestions } from "./cluster-questions.ts";
import type { Channels } from "./connection/channels.ts";
import { closeCodes, type Socket } from "./connection/connection.ts";
import type { Connections } from "./connection/connections.ts";
import { type ChannelGrants, grantsOf } from "./connection/grants.ts";
import type { SendBuffers } from "./fanout/send-buffer.ts";
import {
  type ControlAction,
  type ControlMessage,
  type MessageQuestion,
  readControl,
} from "./message/control-message.ts";
import { joinedFrame, leftFrame } from "./message/frames.ts";
import type { SkippedRecords } from "./message/skipped-records.ts";

/**
 * Selects all connections of a user, or one connection. `exceptConsole`: not one of the console. Only the instance that has
 * the connection knows whose it is.
 */
export type ConnectionSelector = { userId: string } | { connectionId: string; exceptConsole?: boolean };

/** More connections of one process are not listed in an answer. */
export const maxListedConnections = 1_000;

/** What became of a frame for an event stream: `unknown`: there is no such stream; `busy`: too many wait for the queue. */
export type FrameResult = "accepted" | "unknown" | "busy";

export interface ControlParts {
  /** The other workers of this instance; null: this process is the whole instance. */
  workers: { countConnections(selector: ConnectionSelector): Promise<number> } | null;
  control: Log;
  /** Whether other instances read the log too. Then it does not count connections. */
  isCluster: boolean;
  connections: Connections;
  channels: Channels;
  sendBuffers: SendBuffers;
  node: string;
  /** Identifies this process by its start. */
  process: string;
  /** Name of the instance; several workers are one. */
  instance: string;
  questions: ClusterQuestions;
  /** The connections of this process; with a user id, those of that user one by one. */
  reportConnections: (userId: string | null) => unknown;
  /** Receives a frame of a client for an event stream of this process. */
  receiveFrame: (stream: string, text: string) => FrameResult;
  /** What this process knows about messages. */
  reportMessages: (question: MessageQuestion) => unknown;
  newId: () => string;
  /** Handles the presence records of all instances. */
  presence: (offset: number, message: ControlMessage & { type: "presence" }) => void;
  /** Handles the uses of codes on all instances. */
  used: (record: LogRecord, message: ControlMessage & { type: "use" }) => void;
  skipped: SkippedRecords;
  onCaughtUp: () => void;
  /** Called when actions may have been lost. */
  onLost: () => void;
}

/**
 * Actions of other services on connections. Each action is appended to the log `control`, and every instance applies it.
 * The returned numbers count connections of this instance, on all of its workers.
 */
export class Control implements LogReader {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  /** Disconnects a user or a connection. Returns how many connections of this instance are affected. */
  async disconnect(
    selector: ConnectionSelector,
    code: number = closeCodes.kicked,
    reason = "disconnected by the service",
  ): Promise<number> {
    // Counted before they are closed.
    const before = this.#parts.isCluster ? await this.#count(selector) : 0;
    return (await this.#append({ type: "kick", ...selector, code, reason })) ?? before;
  }

  /** Disconnects a user or a connection and returns the closed connections of every process. */
  disconnectEverywhere(
    selector: ConnectionSelector,
    code: number = closeCodes.kicked,
    reason = "disconnected by the service",
  ): Promise<ClusterAnswers> {
    return this.#ask({ type: "kick", ...selector, code, reason, isQuestion: true });
  }

  /** The connections of every process. */
  askConnections(userId: string | null): Promise<ClusterAnswers> {
    return this.#ask({ type: "askConnections", userId });
  }

  /** Whether the process takes part in the cluster. */
  knowsProcess(process: string): boolean {
    return this.#parts.questions.knows(process);
  }

  /** Passes a frame for an event stream on to the process that has it. Null: that did not answer in time. */
  async passFrame(process: string, stream: string, text: string): Promise<FrameResult | null> {
    const { answers } = await this.#ask({ type: "frame", process, stream, text }, process);
    return (answers[0]?.answer as FrameResult | undefined) ?? null;
  }

  /** What every process knows about messages. Of a single process nothing is written to the log, which may be a file. */
  async askMessages(question: MessageQuestion): Promise<ClusterAnswers> {
    const { isCluster, workers, instance, reportMessages } = this.#parts;
    if (isCluster || workers) return this.#ask({ type: "askMessages", question });
    return { answers: [{ instance, answer: reportMessages(question) }], missing: [] };
  }

  /** Returns how many connections of the user on this instance are members; in cluster mode, how many there are. */
  async join(userId: string, channel: string): Promise<number> {
    return (await this.#append({ type: "join", userId, channel })) ?? this.#count({ userId });
  }

  async leave(userId: string, channel: string): Promise<number> {
    return (await this.#append({ type: "leave", userId, channel })) ?? this.#count({ userId });
  }

  /** Replaces the user's grants by these names and globs. */
  async grant(userId: string, channels: string[]): Promise<number> {
    return (await this.#append({ type: "grant", userId, channels })) ?? this.#count({ userId });
  }

  /** Connections of this process. */
  countHere(selector: ConnectionSelector): number {
    return this.#affected(selector).length;
  }

  receive(records: LogRecord[]): Receipts {
    return records.map((record) => this.#read(record));
  }

  caughtUp(): void {
    this.#parts.onCaughtUp();
  }

  lost(): void {
    this.#parts.onLost();
  }

  /** Connections of this instance. */
  #count(selector: ConnectionSelector): number | Promise<number> {
    return this.#parts.workers?.countConnections(selector) ?? this.countHere(selector);
  }

  /** Returns how many connections of this process are affected. */
  #read(record: LogRecord): number {
    const { offset, value, isRepeat, ageMs } = record;
    if (isRepeat || isMarker(value)) return 0;
    const message = readControl(value);
    if (!message) {
      this.#parts.skipped.note("control", value, ageMs);
      return 0;
    }
    if (message.type === "presence") this.#parts.presence(offset, message);
    else if (message.type === "use") this.#parts.used(record, message);
    else if (message.type === "answer") this.#parts.questions.receive(message.to, message.process, message);
    else if (message.type === "askConnections")
      this.#answer(message.id, ageMs, () => this.#parts.reportConnections(message.userId));
    else if (message.type === "frame") this.#receiveFrame(message, ageMs);
    else if (message.type === "askMessages")
      this.#answer(message.id, ageMs, () => this.#parts.reportMessages(message.question));
    else return this.#applyTo(message, ageMs);
    return 0;
  }

  #ask(action: ControlAction, only?: string): Promise<ClusterAnswers> {
    const { questions, newId } = this.#parts;
    const id = newId();
    return questions.ask(id, () => this.#append(action, id), only);
  }

  /** A late frame is not applied, because its client was told that it was not accepted. */
  #receiveFrame({ id, process, stream, text }: ControlMessage & { type: "frame" }, ageMs: number): void {
    if (process !== this.#parts.process) return;
    this.#answer(id, ageMs, () => this.#parts.receiveFrame(stream, text));
  }

  /** Without an answer the process that asked names this instance as missing. */
  #answer(to: string, ageMs: number, answerOf: () => unknown): void {
    const { questions, process, instance } = this.#parts;
    if (!questions.isOpen(ageMs)) return;
    this.#append({ type: "answer", to, process, instance, answer: answerOf() }).catch(() => {});
  }

  /** Returns how many connections of this process are affected. */
  #applyTo(
    message: Extract<ControlMessage, { type: "kick" | "join" | "leave" | "grant" }>,
    ageMs: number,
  ): number {
    if (message.type === "kick") return this.#kick(message, ageMs);
    const sockets = this.#parts.connections.ofUser(message.userId);
    if (message.type === "grant") this.#grant(message.userId, grantsOf(message.channels));
    else for (const socket of sockets) this.#changeMembership(socket, message);
    if (message.type !== "join") return sockets.length;
    return sockets.filter(({ data }) => data.channels?.has(message.channel)).length;
  }

  /** Null: the log does not count the affected connections. */
  #append(action: ControlAction, id = this.#parts.newId()): Promise<number | null> {
    const { control, node } = this.#parts;
    const message: ControlMessage = { v: writtenVersion, id, node, ...action };
    return control.append(message);
  }

  #kick(message: Extract<ControlMessage, { type: "kick" }>, ageMs: number): number {
    const selector =
      message.userId === undefined
        ? { connectionId: message.connectionId ?? "", exceptConsole: message.exceptConsole === true }
        : { userId: message.userId };
    // A copy: closed connections leave the list.
    const affected = [...this.#affected(selector)];
    if (message.isQuestion)
      this.#answer(message.id, ageMs, () =>
        affected.slice(0, maxListedConnections).map(({ data: { id, userId, kind } }) => ({
          ...{ connectionId: id, userId, kind },
        })),
      );
    for (const socket of affected) socket.close(message.code, message.reason);
    return affected.length;
  }

  #changeMembership(socket: Socket, message: Extract<ControlMessage, { type: "join" | "leave" }>): void {
    const { channels } = this.#parts;
    const { channel } = message;
    if (message.type === "join") {
      if (channels.joinByServer(socket, channel) === null) this.#notify(socket, joinedFrame(channel));
    } else if (channels.leave(socket, channel)) this.#notify(socket, leftFrame(channel));
  }

  #grant(userId: string, grants: ChannelGrants): void {
    const { connections, channels } = this.#parts;
    for (const socket of connections.ofUser(userId)) {
      socket.data.grants = grants;
      for (const left of channels.leaveMatching(socket, (channel) => !grants.allows(channel)))
        this.#notify(socket, leftFrame(left));
    }
  }

  #notify(socket: Socket, frame: string): void {
    if (socket.data.isV1) this.#parts.sendBuffers.send(socket, frame);
  }

  #affected(selector: ConnectionSelector): readonly Socket[] {
    const { connections } = this.#parts;
    if ("userId" in selector) return connections.ofUser(selector.userId);
    const socket = connections.byId(selector.connectionId);
    if (socket === undefined || (selector.exceptConsole && isConsoleUser(socket.data.userId))) return [];
    return [socket];
  }
}
