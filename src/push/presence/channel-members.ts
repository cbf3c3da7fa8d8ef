import type { Socket } from "../connection/connection.ts";
import type { Presence } from "./presence.ts";
import { presentName } from "./presence-record.ts";

/** Of channels with this prefix, the gateway knows the members on all instances. */
export const presenceChannelPrefix = "presence-";

/** Users with a normal connection of this process in a presence channel. */
export class ChannelMembers {
  readonly #presence: Pick<Presence, "changed">;
  /** Connections by name. */
  readonly #connections = new Map<string, number>();

  constructor(presence: Pick<Presence, "changed">) {
    this.#presence = presence;
  }

  /** A connection joined the channel, or left it. */
  changed({ data }: Socket, channel: string, isMember: boolean): void {
    if (data.kind !== "normal" || !channel.startsWith(presenceChannelPrefix)) return;
    const name = presentName(channel, data.userId);
    const count = (this.#connections.get(name) ?? 0) + (isMember ? 1 : -1);
    if (count > 0) this.#connections.set(name, count);
    else this.#connections.delete(name);
    this.#presence.changed(name, count > 0);
  }
}
