import type { Socket } from "../connection/connection.ts";
import type { Presence } from "./presence.ts";
import { type PresentName, presentName } from "./presence-record.ts";

/** Of channels with this prefix, the gateway knows the members on all instances. */
export const presenceChannelPrefix = "presence-";

/** Users with a normal connection of this process in a presence channel, and channels with any connection of it. */
export class ChannelMembers {
  readonly #presence: Pick<Presence, "changed">;
  /** Whether channels as a whole are reported. */
  readonly #reportsChannels: boolean;
  /** Connections by name. */
  readonly #connections = new Map<string, number>();

  constructor(presence: Pick<Presence, "changed">, reportsChannels: boolean) {
    this.#presence = presence;
    this.#reportsChannels = reportsChannels;
  }

  /** A connection joined the channel, or left it. */
  changed({ data }: Socket, channel: string, isMember: boolean): void {
    if (this.#reportsChannels && !data.isConsole) this.#count(presentName(channel, ""), isMember);
    if (data.kind === "normal" && channel.startsWith(presenceChannelPrefix))
      this.#count(presentName(channel, data.userId), isMember);
  }

  #count(name: PresentName, isMember: boolean): void {
    const count = (this.#connections.get(name) ?? 0) + (isMember ? 1 : -1);
    if (count > 0) this.#connections.set(name, count);
    else this.#connections.delete(name);
    this.#presence.changed(name, count > 0);
  }
}
