import type { Socket } from "../connection/connection.ts";
import { isRecipient, type Recipients, topicsOf } from "../connection/recipients.ts";
import { messageFrames } from "../message/frames.ts";
import type { PushedMessage } from "../message/message.ts";
import type { MessageTrace } from "../trace/message-trace.ts";
import type { ResumeRing } from "./resume-ring.ts";
import type { SendBuffers } from "./send-buffer.ts";

export interface CatchUpParts {
  ring: ResumeRing;
  sendBuffers: SendBuffers;
  trace: Pick<MessageTrace, "sent">;
}

/**
 * Connections that resume: they are subscribed to no topic yet and are sent what they missed from the ring, in order, as
 * their send buffer has room. At the end of the ring a connection becomes live. Other connections never wait for it.
 */
export class CatchUp {
  readonly #parts: CatchUpParts;
  readonly #sockets = new Set<Socket>();

  constructor(parts: CatchUpParts) {
    this.#parts = parts;
  }

  /** Sends the messages since ring index `from`, then makes the connection live. */
  start(socket: Socket, from: number): void {
    this.#sockets.add(socket);
    socket.data.catchUpPosition = from;
    this.advance(socket);
  }

  remove(socket: Socket): void {
    this.#sockets.delete(socket);
  }

  /** How many recipients of a message are catching up. */
  countRecipients(message: Recipients): number {
    let count = 0;
    for (const { data } of this.#sockets) if (isRecipient(data, message)) count++;
    return count;
  }

  /** Sends while there is room. At the end the connection subscribes in the same turn, so that it misses no message. */
  advance(socket: Socket): void {
    if (!this.#sockets.has(socket)) return;
    const { ring, sendBuffers } = this.#parts;
    const { data } = socket;
    for (; data.catchUpPosition < ring.end; data.catchUpPosition++) {
      const message = ring.at(data.catchUpPosition);
      if (message === null) continue;
      if (message === undefined) {
        // The ring has dropped messages that this client needs; a reconnect reports that to it.
        this.remove(socket);
        sendBuffers.closeSlowConsumer(socket);
        return;
      }
      if (isRecipient(data, message) && !this.#sendIfRoom(socket, message)) return;
    }
    // Live messages are sent without a check for room, up to half a buffer per turn.
    if (!sendBuffers.hasRoom(socket, sendBuffers.turnBytes)) return;
    data.catchUpPosition = -1;
    this.remove(socket);
    for (const topic of topicsOf(data)) socket.subscribe(topic);
  }

  tick(): void {
    for (const socket of this.#sockets) this.advance(socket);
  }

  #sendIfRoom(socket: Socket, message: PushedMessage): boolean {
    const { sendBuffers, trace } = this.#parts;
    const { isV1, userId } = socket.data;
    const text = isV1 ? messageFrames(message)(message.targets ? userId : message.target) : message.data;
    if (!sendBuffers.hasRoom(socket, Buffer.byteLength(text))) return false;
    trace.sent(message, socket);
    sendBuffers.send(socket, text);
    return true;
  }
}
