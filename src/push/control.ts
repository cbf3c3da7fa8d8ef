import type { Bus } from "../bus/bus.ts";
import { isConsoleUser } from "../model/console-names.ts";
import type { Channels } from "./connection/channels.ts";
import { closeCodes, type Socket } from "./connection/connection.ts";
import type { Connections } from "./connection/connections.ts";
import { type ChannelGrants, grantsOf } from "./connection/grants.ts";
import type { SendBuffers } from "./fanout/send-buffer.ts";
import { type ControlAction, type ControlMessage, joinedFrame, leftFrame } from "./message/message.ts";

/**
 * Selects all connections of a user, or one connection. `exceptConsole`: not one of the console. Only the instance that has
 * the connection knows whose it is.
 */
export type ConnectionSelector = { userId: string } | { connectionId: string; exceptConsole?: boolean };

export interface ControlParts {
  /** The other workers of this instance; null: this process is the whole instance. */
  workers: { countConnections(selector: ConnectionSelector): Promise<number> } | null;
  bus: Bus;
  connections: Connections;
  channels: Channels;
  sendBuffers: SendBuffers;
  node: string;
  newId: () => string;
  /** Handles presence messages of other instances. */
  presence: (message: ControlMessage & { type: "presence" }) => void;
}

/**
 * Actions of other services on connections. Each action is published on the bus, and every instance applies it. The
 * returned numbers count connections of this instance, on all of its workers.
 */
export class Control {
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
    const before = this.#count(selector);
    // Without other workers the connections are counted and closed in one turn of the event loop.
    const affected = before instanceof Promise ? await before : before;
    return (await this.#publish({ type: "kick", ...selector, code, reason })) ?? affected;
  }

  /** Returns how many connections of the user on this instance are members; in cluster mode, how many there are. */
  async join(userId: string, channel: string): Promise<number> {
    const { bus, connections } = this.#parts;
    const counted = await this.#publish({ type: "join", userId, channel });
    if (counted !== undefined) return counted;
    if (bus.name !== "local") return this.#count({ userId });
    return connections.ofUser(userId).filter(({ data }) => data.channels?.has(channel)).length;
  }

  async leave(userId: string, channel: string): Promise<number> {
    const counted = await this.#publish({ type: "leave", userId, channel, revoke: false });
    return counted ?? this.#count({ userId });
  }

  /** Replaces the user's grants by these names and globs. */
  async grant(userId: string, channels: string[]): Promise<number> {
    const counted = await this.#publish({ type: "grant", userId, channels });
    return counted ?? this.#count({ userId });
  }

  /** Connections of this process. */
  countHere(selector: ConnectionSelector): number {
    return this.#affected(selector).length;
  }

  /** Connections of this instance. A bus that counts by itself makes this unnecessary. */
  #count(selector: ConnectionSelector): number | Promise<number> {
    const { workers, bus } = this.#parts;
    return workers && !bus.receipts ? workers.countConnections(selector) : this.countHere(selector);
  }

  apply(message: ControlMessage): void {
    if (message.type === "presence") this.#parts.presence(message);
    else {
      const affected = this.#applyTo(message);
      this.#parts.bus.receipts?.note(message.id, affected);
    }
  }

  /** Returns how many connections of this process are affected. */
  #applyTo(message: Exclude<ControlMessage, { type: "presence" }>): number {
    if (message.type === "kick") return this.#kick(message);
    const sockets = this.#parts.connections.ofUser(message.userId);
    if (message.type === "grant") this.#grant(message.userId, grantsOf(message.channels));
    else for (const socket of sockets) this.#changeMembership(socket, message);
    if (message.type !== "join") return sockets.length;
    return sockets.filter(({ data }) => data.channels?.has(message.channel)).length;
  }

  /** Undefined: the bus does not count the affected connections. */
  async #publish(action: ControlAction): Promise<number | undefined> {
    const { bus, node, newId } = this.#parts;
    const message: ControlMessage = { v: 1, id: newId(), node, ...action };
    const key = "userId" in action && typeof action.userId === "string" ? action.userId : "";
    await bus.publish("control", key, message);
    return bus.receipts?.take(message.id);
  }

  #kick(message: Extract<ControlMessage, { type: "kick" }>): number {
    const selector =
      message.userId === undefined
        ? { connectionId: message.connectionId ?? "", exceptConsole: message.exceptConsole === true }
        : { userId: message.userId };
    const affected = this.#affected(selector);
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
