import { isConsoleChannel } from "../../model/console/console-names.ts";
import { isChannelName } from "../message/channel-name.ts";
import type { Connection, Socket } from "./connection.ts";
import type { Connections } from "./connections.ts";
import { channelTopic } from "./recipients.ts";

export const maxChannelsPerConnection = 128;

export type JoinRefusal = "channel_invalid" | "channel_not_allowed" | "too_many_channels";

export const joinRefusalTexts: Record<JoinRefusal, string> = {
  channel_invalid: "A channel name has 1 to 255 bytes and no control characters.",
  channel_not_allowed: "This connection was not granted the channel.",
  too_many_channels: `A connection is in at most ${maxChannelsPerConnection} channels; leave one first.`,
};

/** Membership of connections in channels. A join needs a valid name, a grant (grants.ts) and a free place. */
export class Channels {
  readonly #connections: Connections;
  readonly #reservesConsoleNames: boolean;
  /** `closeCode`: of the connection that left because it was closed; 0 otherwise. */
  readonly #onChanged: (socket: Socket, channel: string, isMember: boolean, closeCode: number) => void;

  constructor(
    connections: Connections,
    reservesConsoleNames: boolean,
    onChanged: (socket: Socket, channel: string, isMember: boolean, closeCode: number) => void,
  ) {
    this.#connections = connections;
    this.#reservesConsoleNames = reservesConsoleNames;
    this.#onChanged = onChanged;
  }

  /** A join requested by the client, which needs a grant. Null: the connection is a member. */
  join(socket: Socket, channel: string): JoinRefusal | null {
    if (!isChannelName(channel)) return "channel_invalid";
    if (!socket.data.grants.allows(channel)) return "channel_not_allowed";
    return this.joinByServer(socket, channel);
  }

  /** A join requested by the verify service or another service. It needs no grant, but cannot join channels of the console. */
  joinByServer(socket: Socket, channel: string): JoinRefusal | null {
    if (!isChannelName(channel)) return "channel_invalid";
    const { data } = socket;
    if (this.#reservesConsoleNames && !data.isConsole && isConsoleChannel(channel))
      return "channel_not_allowed";
    data.channels ??= new Set();
    if (data.channels.has(channel)) return null;
    if (data.channels.size >= maxChannelsPerConnection) return "too_many_channels";
    data.channels.add(channel);
    this.#connections.countJoin(channel);
    this.#onChanged(socket, channel, true, 0);
    if (isLive(data)) socket.subscribe(channelTopic(channel, data.isV1));
    return null;
  }

  /** False: the connection was not a member. */
  leave(socket: Socket, channel: string): boolean {
    const { data } = socket;
    if (!data.channels?.delete(channel)) return false;
    this.#connections.countLeave(channel);
    this.#onChanged(socket, channel, false, 0);
    if (isLive(data)) socket.unsubscribe(channelTopic(channel, data.isV1));
    return true;
  }

  /** The connection was closed. */
  closed(socket: Socket, closeCode: number): void {
    for (const channel of socket.data.channels ?? []) this.#onChanged(socket, channel, false, closeCode);
  }

  leaveMatching(socket: Socket, matches: (channel: string) => boolean): string[] {
    const leaving = [...(socket.data.channels ?? [])].filter(matches);
    for (const channel of leaving) this.leave(socket, channel);
    return leaving;
  }
}

/** A connection that catches up is subscribed to no topic: it reads from the resume ring. */
function isLive(connection: Connection): boolean {
  return connection.catchUpPosition < 0;
}
