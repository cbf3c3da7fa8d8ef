import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { Admission } from "./admission/admission.ts";
import type { ClientMessages } from "./client-messages.ts";
import { type Channels, joinRefusalTexts } from "./connection/channels.ts";
import { type Connection, closeCodes, type Socket } from "./connection/connection.ts";
import type { Connections } from "./connection/connections.ts";
import type { Heartbeat } from "./connection/heartbeat.ts";
import type { Drain } from "./drain.ts";
import type { Hub } from "./fanout/hub.ts";
import type { ResumeRing } from "./fanout/resume-ring.ts";
import type { SendBuffers } from "./fanout/send-buffer.ts";
import { countAdmission, countClose, type PushCounters } from "./message/counters.ts";
import { errorFrame, welcomeFrame } from "./message/message.ts";
import type { InstancePresence } from "./presence/instance-presence.ts";
import type { LossDetector } from "./publish/loss-detector.ts";

export interface SocketEventParts {
  admission: Admission;
  connections: Connections;
  channels: Channels;
  clientMessages: ClientMessages;
  drain: Drain;
  heartbeat: Heartbeat;
  hub: Hub;
  presence: Pick<InstancePresence, "opened" | "closed">;
  ring: ResumeRing;
  sendBuffers: SendBuffers;
  losses: Pick<LossDetector, "hasNoGaps">;
  counters: PushCounters;
  log: Logger;
  clock: Clock;
  wallTimeOf: (steadyMs: number) => number;
  pingIntervalMs: number;
}

/** Handles the events of a socket, from its upgrade to its close. */
export class SocketEvents {
  readonly #parts: SocketEventParts;
  readonly #isDebug: boolean;

  constructor(parts: SocketEventParts) {
    this.#parts = parts;
    this.#isDebug = parts.log.isLevelEnabled("debug");
  }

  opened(socket: Socket): void {
    const { data } = socket;
    if (data.rejection) {
      socket.close(data.rejection.closeCode, data.rejection.reason);
      return;
    }
    const { connections, drain, counters, heartbeat, hub, presence, clock } = this.#parts;
    connections.add(socket);
    countAdmission(counters, data.kind);
    heartbeat.watch(socket, clock.now());
    if (data.kind === "normal") presence.opened(data.userId);
    const refusedChannels = this.#joinFirstChannels(socket);
    hub.add(socket, this.#welcome(socket, refusedChannels));
    if (this.#isDebug) this.#logOpened(socket);
    if (drain.isRefusing) socket.close(closeCodes.restart, "the server is restarting");
  }

  received(socket: Socket, frame: string | Uint8Array): void {
    if (!socket.data.rejection) this.#parts.clientMessages.receive(socket, frame);
  }

  /** A ping or a pong: it shows that the client is alive, and counts against the rate. */
  heartbeat(socket: Socket): void {
    if (!socket.data.rejection) this.#parts.clientMessages.isWithinRate(socket);
  }

  drained(socket: Socket): void {
    if (!socket.data.rejection) this.#parts.hub.drained(socket);
  }

  closed(socket: Socket, code: number): void {
    const { data } = socket;
    const { admission, connections, counters, hub, presence } = this.#parts;
    if (data.rejection || !connections.remove(socket)) return;
    admission.release(data.userId);
    hub.remove(socket);
    countClose(counters, code);
    if (this.#isDebug) this.#logClosed(data, code);
    if (data.kind === "normal") presence.closed(data.userId);
  }

  #logOpened({ data, remoteAddress }: Socket): void {
    const { id, userId, kind, isV1, channels } = data;
    const protocol = isV1 ? "slipway.v1" : "raw";
    this.#parts.log.debug(
      { connectionId: id, userId, kind, protocol, channels: [...(channels ?? [])], peer: remoteAddress },
      "connection opened",
    );
  }

  #logClosed({ id, userId, openedAtMs }: Connection, closeCode: number): void {
    const { log, clock } = this.#parts;
    const openMs = Math.round(clock.now() - openedAtMs);
    log.debug({ connectionId: id, userId, closeCode, openMs }, "connection closed");
  }

  /** Joins the channels of the verify response and of the handshake; returns the refused ones. */
  #joinFirstChannels(socket: Socket): [channel: string, refusal: keyof typeof joinRefusalTexts][] {
    const { data } = socket;
    const refused: [string, keyof typeof joinRefusalTexts][] = [];
    for (const channel of data.firstChannels) {
      const refusal = this.#parts.channels.join(socket, channel);
      if (refusal) refused.push([channel, refusal]);
    }
    data.firstChannels = [];
    return refused;
  }

  /** Sends `welcome` to a `slipway.v1` client. Returns the ring position from which the connection gets messages. */
  #welcome(socket: Socket, refused: [string, keyof typeof joinRefusalTexts][]): number {
    const { ring, losses, clientMessages, clock, wallTimeOf, sendBuffers, pingIntervalMs } = this.#parts;
    const { data } = socket;
    if (!data.isV1) return ring.end;
    const resume = data.resumeId === null ? null : ring.find(data.resumeId, clock.now());
    data.resumeId = null;
    sendBuffers.send(
      socket,
      welcomeFrame({
        connectionId: data.id,
        userId: data.userId,
        kind: data.kind,
        channels: [...(data.channels ?? [])],
        acceptsMessages: clientMessages.isAccepting,
        pingIntervalMs,
        expiresAt: data.endsAtMs > 0 ? wallTimeOf(data.endsAtMs) : null,
        recovered: (resume?.isComplete ?? false) && losses.hasNoGaps,
        lastId: ring.lastId,
      }),
    );
    for (const [channel, refusal] of refused)
      sendBuffers.send(socket, errorFrame(refusal, joinRefusalTexts[refusal], channel));
    return resume?.from ?? ring.end;
  }
}
