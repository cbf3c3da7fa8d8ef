import type { Socket } from "../connection/connection.ts";
import type { Connections } from "../connection/connections.ts";
import { isRecipient, type Recipients, topicsOf } from "../connection/recipients.ts";
import { messageFrames } from "../message/frames.ts";
import type { PushedMessage } from "../message/message.ts";
import type { MessageTrace } from "../trace/message-trace.ts";
import type { ResumeRing } from "./resume-ring.ts";
import type { SendBuffers } from "./send-buffer.ts";
import type { SharedBacklog } from "./shared-backlog.ts";

export interface CatchUpParts {
  connections: Connections;
  ring: ResumeRing;
  sendBuffers: SendBuffers;
  trace: Pick<MessageTrace, "sent">;
}

/**
 * Connections that catch up: they are subscribed to no topic and are sent their messages one by one, in order, as their
 * send buffer has room. A resuming client reads from the resume ring, a slow consumer from the shared backlog. At the end
 * of its source a connection becomes live. Other connections never wait for it.
 */
export class CatchUp {
  readonly #parts: CatchUpParts;
  readonly #sources = new Map<Socket, ResumeRing | SharedBacklog>();
  /** Without readers, messages are not added to the backlog. */
  #backlogReaders = 0;

  constructor(parts: CatchUpParts) {
    this.#parts = parts;
  }

  /** Sends the messages since ring index `from`, then makes the connection live. */
  start(socket: Socket, from: number): void {
    this.#sources.set(socket, this.#parts.ring);
    socket.data.catchUpPosition = from;
    this.advance(socket);
  }

  /** From the next message on, the connection reads from the backlog. False: it catches up already. */
  fallBehind(socket: Socket): boolean {
    if (this.#sources.has(socket)) return false;
    const { backlog } = this.#parts.sendBuffers;
    for (const topic of topicsOf(socket.data)) socket.unsubscribe(topic);
    this.#sources.set(socket, backlog);
    this.#backlogReaders++;
    socket.data.catchUpPosition = backlog.end;
    return true;
  }

  remove(socket: Socket): void {
    const { backlog } = this.#parts.sendBuffers;
    const source = this.#sources.get(socket);
    this.#sources.delete(socket);
    if (source === backlog && --this.#backlogReaders === 0) backlog.forgetBefore(backlog.end);
  }

  /** How many recipients of a message are catching up. */
  countRecipients(message: Recipients): number {
    if (this.#sources.size === 0) return 0;
    if (message.targetType === "all") return this.#sources.size;
    const isToOneUser = message.targetType !== "channel" && !message.targets;
    const candidates = isToOneUser ? this.#parts.connections.ofUser(message.target) : this.#sources.keys();
    let count = 0;
    for (const socket of candidates)
      if (this.#sources.has(socket) && isRecipient(socket.data, message)) count++;
    return count;
  }

  addToBacklog(message: PushedMessage): void {
    if (this.#backlogReaders === 0) return;
    const { backlog, maxBacklogBytes } = this.#parts.sendBuffers;
    backlog.add(message);
    if (backlog.bytes > maxBacklogBytes) this.#closeSlowest();
  }

  /** Sends while there is room. At the end the connection subscribes in the same turn, so that it misses no message. */
  advance(socket: Socket): void {
    const source = this.#sources.get(socket);
    if (!source) return;
    const { sendBuffers } = this.#parts;
    const { data } = socket;
    for (; data.catchUpPosition < source.end; data.catchUpPosition++) {
      const message = source.at(data.catchUpPosition);
      if (message === null) continue;
      if (message === undefined) {
        // The ring has dropped messages that this client needs; a reconnect reports that to it.
        this.#close(socket);
        return;
      }
      if (!isRecipient(data, message) || this.#sendIfRoom(socket, message)) continue;
      // The ring exists anyway, so a resuming client has the full timeout; a stalled backlog reader costs memory.
      if (source !== this.#parts.ring && sendBuffers.isStalled(socket)) this.#close(socket);
      return;
    }
    // Live messages are sent without a check for room, up to half a buffer per turn.
    if (!sendBuffers.hasRoom(socket, sendBuffers.turnBytes)) return;
    data.catchUpPosition = -1;
    this.remove(socket);
    for (const topic of topicsOf(data)) socket.subscribe(topic);
  }

  tick(): void {
    for (const socket of [...this.#sources.keys()]) this.advance(socket);
    this.#trimBacklog();
  }

  #sendIfRoom(socket: Socket, message: PushedMessage): boolean {
    const { sendBuffers, trace } = this.#parts;
    // Checked before the encoding as well, to save it: a frame is never shorter than its data.
    if (!sendBuffers.hasRoom(socket, message.data.length)) return false;
    const { isV1, userId } = socket.data;
    const text = isV1 ? messageFrames(message)(message.targets ? userId : message.target) : message.data;
    if (!sendBuffers.hasRoom(socket, Buffer.byteLength(text))) return false;
    trace.sent(message, socket);
    sendBuffers.send(socket, text);
    return true;
  }

  /** Drops the messages that all readers have been sent; returns the position of the slowest reader. */
  #trimBacklog(): number {
    const { backlog } = this.#parts.sendBuffers;
    let slowest = backlog.end;
    for (const [{ data }, source] of this.#sources)
      if (source === backlog) slowest = Math.min(slowest, data.catchUpPosition);
    backlog.forgetBefore(slowest);
    return slowest;
  }

  #closeSlowest(): void {
    const { backlog, maxBacklogBytes } = this.#parts.sendBuffers;
    for (;;) {
      const slowest = this.#trimBacklog();
      if (backlog.bytes <= maxBacklogBytes) return;
      for (const [socket, source] of [...this.#sources])
        if (source === backlog && socket.data.catchUpPosition === slowest) this.#close(socket);
    }
  }

  #close(socket: Socket): void {
    this.remove(socket);
    this.#parts.sendBuffers.closeSlowConsumer(socket);
  }
}
