import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { Admission } from "./admission/admission.ts";
import type { ClientMessages } from "./client-messages.ts";
import { type Channels, joinRefusalTexts } from "./connection/channels.ts";
import { type Connection, closeCodes, endOf, type Socket } from "./connection/connection.ts";
import type { Connections } from "./connection/connections.ts";
import type { Heartbeat } from "./connection/heartbeat.ts";
import type { Drain } from "./drain.ts";
import type { CatchUp } from "./fanout/catch-up.ts";
import type { ResumeRing } from "./fanout/resume-ring.ts";
import type { SendBuffers } from "./fanout/send-buffer.ts";
import { countAdmission, countClose, type PushCounters } from "./message/counters.ts";
import { errorFrame, welcomeFrame } from "./message/frames.ts";
import type { Presence } from "./presence/presence.ts";
import { presentName } from "./presence/presence-record.ts";
import type { MessageTrace } from "./trace/message-trace.ts";

export interface SocketEventParts {
  admission: Admission;
  connections: Connections;
  channels: Channels;
  clientMessages: ClientMessages;
  drain: Drain;
  heartbeat: Heartbeat;
  catchUp: CatchUp;
  presence: Pick<Presence, "changed">;
  ring: ResumeRing;
  sendBuffers: SendBuffers;
  trace: MessageTrace;
  /** Whether all messages that are stored now will be read here. */
  isReading: () => boolean;
  counters: PushCounters;
  log: Logger;
  clock: Clock;
  wallTimeOf: (steadyMs: number) => number;
  pingIntervalMs: number;
}

type RefusedChannels = [channel: string, refusal: keyof typeof joinRefusalTexts][];

/** A client whose position this instance has not read yet. */
interface Early {
  refused: RefusedChannels;
  untilMs: number;
}

/** How long a client waits until this instance has read as far as the client has. */
const maxEarlyMs = 3_000;

/** Handles the events of a socket, from its upgrade to its close. */
export class SocketEvents {
  readonly #parts: SocketEventParts;
  readonly #isDebug: boolean;
  readonly #early = new Map<Socket, Early>();

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
    const { connections, drain, counters, heartbeat, presence, clock } = this.#parts;
    connections.add(socket);
    countAdmission(counters, data.kind);
    heartbeat.watch(socket, clock.now());
    if (data.kind === "normal") presence.changed(presentName("", data.userId), true);
    const refusedChannels = this.#joinFirstChannels(socket);
    this.#resume(socket, { refused: refusedChannels, untilMs: clock.now() + maxEarlyMs });
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
    const { data } = socket;
    // An event stream has no pongs: its client is alive as long as it reads.
    if (data.stream !== null) data.lastSeenAtMs = this.#parts.clock.now();
    if (data.rejection) return;
    this.#parts.sendBuffers.noteProgress(socket);
    this.#parts.catchUp.advance(socket);
  }

  closed(socket: Socket, code: number): void {
    const { data } = socket;
    const { admission, catchUp, channels, connections, counters, presence, sendBuffers, trace } = this.#parts;
    if (data.rejection || !connections.remove(socket)) return;
    admission.release(data.userId);
    this.#early.delete(socket);
    catchUp.remove(socket);
    sendBuffers.forget(socket);
    trace.closed(socket, code);
    countClose(counters, code);
    if (this.#isDebug) this.#logClosed(data, code);
    channels.closed(socket, code);
    if (data.kind === "normal" && !connections.isOnline(data.userId))
      presence.changed(presentName("", data.userId), false);
  }

  #logOpened({ data, remoteAddress }: Socket): void {
    const { id, userId, kind, isV1, stream, channels } = data;
    const protocol = `${isV1 ? "slipway.v1" : "raw"}${stream === null ? "" : " (sse)"}`;
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
  #joinFirstChannels(socket: Socket): RefusedChannels {
    const { data } = socket;
    const refused: RefusedChannels = [];
    for (const channel of data.firstChannels) {
      const refusal = this.#parts.channels.join(socket, channel);
      if (refusal) refused.push([channel, refusal]);
    }
    data.firstChannels = [];
    return refused;
  }

  /** Call when this instance has read further, and regularly. */
  resumeEarly(): void {
    for (const [socket, early] of this.#early) this.#resume(socket, early);
  }

  /** The connection gets the messages after its position, then all later ones. */
  #resume(socket: Socket, early: Early): void {
    const { ring, catchUp, trace, clock, isReading } = this.#parts;
    const { data } = socket;
    if (!data.isV1 || data.resumeId === null) {
      trace.opened(socket, "opened");
      this.#welcome(socket, early.refused, false);
      catchUp.start(socket, ring.end);
      return;
    }
    const point = ring.find(data.resumeId, clock.now());
    if (point === null && clock.now() < early.untilMs) {
      // Not live: it must not get later messages before those that it missed.
      this.#early.set(socket, early);
      return;
    }
    this.#early.delete(socket);
    data.resumeId = null;
    const isRecovered = (point?.isComplete ?? false) && isReading();
    trace.opened(socket, isRecovered ? "resumed" : "gap");
    this.#welcome(socket, early.refused, isRecovered);
    catchUp.start(socket, point?.from ?? ring.end);
  }

  /** Sends `welcome` to a `slipway.v1` client. */
  #welcome(socket: Socket, refused: RefusedChannels, recovered: boolean): void {
    const { ring, clientMessages, wallTimeOf, sendBuffers, pingIntervalMs } = this.#parts;
    const { data } = socket;
    if (!data.isV1) return;
    sendBuffers.send(
      socket,
      welcomeFrame({
        connectionId: data.id,
        userId: data.userId,
        kind: data.kind,
        channels: [...(data.channels ?? [])],
        acceptsMessages: clientMessages.isAccepting,
        pingIntervalMs,
        expiresAt: endOf(data) > 0 ? wallTimeOf(endOf(data)) : null,
        recovered,
        lastId: ring.position,
        ...(data.stream === null ? {} : { stream: data.stream }),
      }),
    );
    for (const [channel, refusal] of refused)
      sendBuffers.send(socket, errorFrame(refusal, joinRefusalTexts[refusal], channel));
  }
}
