import type { Socket } from "../connection/connection.ts";
import type { Connections } from "../connection/connections.ts";
import { hears, topicsOf } from "../connection/topics.ts";
import { type BroadcastMessage, messageFrame, type TargetType } from "../message/message.ts";
import type { Backlog } from "./backlog.ts";
import type { ResumeRing } from "./resume-ring.ts";
import type { SendBuffers } from "./send-buffer.ts";

export interface CatchUpParts {
  connections: Connections;
  ring: ResumeRing;
  sendBuffers: SendBuffers;
}

/**
 * Connections that are behind: they hear no topic, but are sent their messages one by one, in order, as they have room,
 * until they hear live ones again. Who resumes reads from the ring, who fell behind from the backlog. Nobody else waits.
 */
export class CatchUp {
  readonly #parts: CatchUpParts;
  readonly #behind = new Map<Socket, ResumeRing | Backlog>();
  /** How many of them read from the backlog; without one nothing is kept. */
  #backlogReaders = 0;

  constructor(parts: CatchUpParts) {
    this.#parts = parts;
  }

  /** Lets a connection hear its topics from the next message on, or first what it missed since `from`. */
  enter(socket: Socket, from: number): void {
    this.#behind.set(socket, this.#parts.ring);
    socket.data.resumeAt = from;
    this.advance(socket);
  }

  /** From the next message on it is sent what fits. False when it was behind already. */
  fallBehind(socket: Socket): boolean {
    if (this.#behind.has(socket)) return false;
    const { backlog } = this.#parts.sendBuffers;
    for (const topic of topicsOf(socket.data)) socket.unsubscribe(topic);
    this.#behind.set(socket, backlog);
    this.#backlogReaders++;
    socket.data.resumeAt = backlog.end;
    return true;
  }

  leave(socket: Socket): void {
    const { backlog } = this.#parts.sendBuffers;
    const source = this.#behind.get(socket);
    this.#behind.delete(socket);
    if (source === backlog && --this.#backlogReaders === 0) backlog.forgetBefore(backlog.end);
  }

  /** How many of those who are behind will hear a target. */
  hearing(targetType: TargetType, target: string): number {
    if (this.#behind.size === 0) return 0;
    if (targetType === "all") return this.#behind.size;
    const asked = targetType === "channel" ? this.#behind.keys() : this.#parts.connections.ofUser(target);
    let count = 0;
    for (const socket of asked)
      if (this.#behind.has(socket) && hears(socket.data, targetType, target)) count++;
    return count;
  }

  /** Keeps a message for those who are behind. */
  keep(message: BroadcastMessage): void {
    if (this.#backlogReaders === 0) return;
    const { backlog, maxBacklogBytes } = this.#parts.sendBuffers;
    backlog.add(message);
    if (backlog.bytes > maxBacklogBytes) this.#closeFurthest();
  }

  /** Sends what has room; at the end, in the same turn, the connection starts to hear its topics. */
  advance(socket: Socket): void {
    const source = this.#behind.get(socket);
    if (!source) return;
    const { sendBuffers } = this.#parts;
    const { data } = socket;
    for (; data.resumeAt < source.end; data.resumeAt++) {
      const message = source.at(data.resumeAt);
      if (!message) {
        // Slower than the ring forgets: what it missed is gone, and only a new connection can be told so.
        this.#close(socket);
        return;
      }
      if (!hears(data, message.targetType, message.target) || this.#sendIfRoom(socket, message)) continue;
      // Over its buffer, and it does not read. The ring is kept for others anyway: who resumes has the usual time.
      if (source !== this.#parts.ring && sendBuffers.isStalled(socket)) this.#close(socket);
      return;
    }
    // Live messages do not ask for room, and a turn brings up to half a buffer of them.
    if (!sendBuffers.hasRoom(socket, sendBuffers.turnBytes)) return;
    data.resumeAt = -1;
    this.leave(socket);
    for (const topic of topicsOf(data)) socket.subscribe(topic);
  }

  tick(): void {
    for (const socket of [...this.#behind.keys()]) this.advance(socket);
    this.#forgetTaken();
  }

  #sendIfRoom(socket: Socket, message: BroadcastMessage): boolean {
    const { sendBuffers } = this.#parts;
    // Asked before it is encoded, too: a frame is never shorter than its data.
    if (!sendBuffers.hasRoom(socket, message.data.length)) return false;
    const text = socket.data.isV1 ? messageFrame(message) : message.data;
    if (!sendBuffers.hasRoom(socket, Buffer.byteLength(text))) return false;
    sendBuffers.send(socket, text);
    return true;
  }

  /** Answers where the one stands that is furthest behind. */
  #forgetTaken(): number {
    const { backlog } = this.#parts.sendBuffers;
    let furthest = backlog.end;
    for (const [{ data }, source] of this.#behind)
      if (source === backlog) furthest = Math.min(furthest, data.resumeAt);
    backlog.forgetBefore(furthest);
    return furthest;
  }

  #closeFurthest(): void {
    const { backlog, maxBacklogBytes } = this.#parts.sendBuffers;
    for (;;) {
      const furthest = this.#forgetTaken();
      if (backlog.bytes <= maxBacklogBytes) return;
      for (const [socket, source] of [...this.#behind])
        if (source === backlog && socket.data.resumeAt === furthest) this.#close(socket);
    }
  }

  #close(socket: Socket): void {
    this.leave(socket);
    this.#parts.sendBuffers.closeSlow(socket);
  }
}
