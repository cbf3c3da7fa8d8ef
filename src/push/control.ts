import type { Bus } from "../bus/bus.ts";
import { compileGlob } from "../model/glob.ts";
import type { Channels } from "./connection/channels.ts";
import { closeCodes, type Socket } from "./connection/connection.ts";
import type { Connections } from "./connection/connections.ts";
import { type ChannelGrants, grantsOf, withoutChannels } from "./connection/grants.ts";
import type { SendBuffers } from "./fanout/send-buffer.ts";
import { type ControlAction, type ControlMessage, joinedFrame, leftFrame } from "./message/message.ts";

export interface ControlParts {
  bus: Bus;
  connections: Connections;
  channels: Channels;
  sendBuffers: SendBuffers;
  node: string;
  newId: () => string;
  /** What presence says to the other instances. */
  presence: (message: ControlMessage & { type: "presence" }) => void;
}

/** What other services do to connections, on every instance: each order travels on the bus and comes back to `apply`. */
export class Control {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  /** By user or by connection. Answers how many connections of this instance it concerns. */
  async disconnect(
    who: { userId: string } | { connectionId: string },
    code: number = closeCodes.kicked,
    reason = "disconnected by the service",
  ): Promise<number> {
    const concerned = this.#concerned(who).length;
    await this.#order({ type: "kick", ...who, code, reason });
    return concerned;
  }

  /** Returns how many connections of the user are members on this instance; over a queue, how many will be if they have room. */
  async join(userId: string, channel: string): Promise<number> {
    const { bus, connections } = this.#parts;
    await this.#order({ type: "join", userId, channel });
    if (bus.name !== "local") return connections.countOfUser(userId);
    return connections.ofUser(userId).filter(({ data }) => data.channels?.has(channel)).length;
  }

  async leave(userId: string, channel: string): Promise<number> {
    const concerned = this.#parts.connections.countOfUser(userId);
    await this.#order({ type: "leave", userId, channel, revoke: false });
    return concerned;
  }

  /** Takes a permission away: the user's connections leave what the glob matches and cannot join it again. */
  async revoke(userId: string, channelGlob: string): Promise<void> {
    await this.#order({ type: "leave", userId, channel: channelGlob, revoke: true });
  }

  /** Rights changed, in either direction: from now on exactly these names and globs. */
  async grant(userId: string, channels: string[]): Promise<number> {
    await this.#order({ type: "grant", userId, channels });
    return this.#parts.connections.countOfUser(userId);
  }

  apply(message: ControlMessage): void {
    if (message.type === "presence") this.#parts.presence(message);
    else if (message.type === "kick") this.#kick(message);
    else if (message.type === "grant") this.#grant(message.userId, grantsOf(message.channels));
    else for (const socket of this.#parts.connections.ofUser(message.userId)) this.#move(socket, message);
  }

  async #order(action: ControlAction): Promise<void> {
    const { bus, node, newId } = this.#parts;
    const message: ControlMessage = { v: 1, id: newId(), node, ...action };
    const key = "userId" in action && typeof action.userId === "string" ? action.userId : "";
    await bus.publish("control", key, message);
  }

  #kick(message: Extract<ControlMessage, { type: "kick" }>): void {
    const who =
      message.userId === undefined
        ? { connectionId: message.connectionId ?? "" }
        : { userId: message.userId };
    for (const socket of this.#concerned(who)) socket.close(message.code, message.reason);
  }

  #move(socket: Socket, message: Extract<ControlMessage, { type: "join" | "leave" }>): void {
    const { channels } = this.#parts;
    const { channel } = message;
    if (message.type === "join") {
      if (channels.joinUnasked(socket, channel) === null) this.#tell(socket, joinedFrame(channel));
    } else if (message.revoke) {
      socket.data.grants = withoutChannels(socket.data.grants, channel);
      for (const left of channels.leaveMatching(socket, compileGlob(channel)))
        this.#tell(socket, leftFrame(left));
    } else if (channels.leave(socket, channel)) this.#tell(socket, leftFrame(channel));
  }

  #grant(userId: string, grants: ChannelGrants): void {
    const { connections, channels } = this.#parts;
    for (const socket of connections.ofUser(userId)) {
      socket.data.grants = grants;
      for (const left of channels.leaveMatching(socket, (channel) => !grants.allows(channel)))
        this.#tell(socket, leftFrame(left));
    }
  }

  #tell(socket: Socket, frame: string): void {
    if (socket.data.isV1) this.#parts.sendBuffers.send(socket, frame);
  }

  #concerned(who: { userId: string } | { connectionId: string }): readonly Socket[] {
    const { connections } = this.#parts;
    if ("userId" in who) return connections.ofUser(who.userId);
    const socket = connections.byId(who.connectionId);
    return socket ? [socket] : [];
  }
}
