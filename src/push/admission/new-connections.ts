import type { Clock } from "../../clock.ts";
import { Connection } from "../connection/connection.ts";
import { type ChannelGrants, grantsOf, isPlainName, publicGrants } from "../connection/grants.ts";
import type { Identity } from "./code-verifier.ts";
import type { RefusedAdmission } from "./refusals.ts";

export interface NewConnectionOptions {
  publicChannels: readonly string[];
  tempMaxLifetimeMs: number;
  newId: () => string;
  steady: Clock;
}

/** Parameters of a handshake other than its code. */
export interface Wishes {
  isV1: boolean;
  channels: readonly string[];
  resumeId: string | null;
}

/** Later than any connection lasts, and still a valid date: some verify services use their largest number for "never". */
const longestLifetimeMs = 100 * 365 * 24 * 3_600_000;

/** Creates the connection object of a socket. */
export class NewConnections {
  readonly #options: NewConnectionOptions;
  readonly #publicGrants: ChannelGrants;

  constructor(options: NewConnectionOptions) {
    this.#options = options;
    this.#publicGrants = publicGrants(options.publicChannels);
  }

  /** For an admitted handshake. */
  admitted(identity: Identity, wishes: Wishes): Connection {
    const { newId, steady, tempMaxLifetimeMs } = this.#options;
    const { channels, isTemporary } = identity;
    const lifetimeMs = Math.min(identity.maxLifetimeMs ?? tempMaxLifetimeMs, longestLifetimeMs);
    const joined = identity.joinsChannels ? (channels ?? []).filter(isPlainName) : [];
    return new Connection({
      id: newId(),
      userId: identity.userId,
      kind: isTemporary ? "temporary" : "normal",
      isV1: wishes.isV1,
      isConsole: identity.isConsole,
      grants: channels === null ? this.#publicGrants : grantsOf(channels),
      firstChannels: joined.length === 0 ? wishes.channels : [...joined, ...wishes.channels],
      resumeId: wishes.resumeId,
      endsAtMs: isTemporary && lifetimeMs > 0 ? steady.now() + lifetimeMs : 0,
      rejection: null,
    });
  }

  /** For a socket that is opened only to send the reason of a refusal. */
  refused({ closeCode, message }: RefusedAdmission): Connection {
    return new Connection({
      id: "",
      userId: "",
      kind: "normal",
      isV1: false,
      isConsole: false,
      grants: this.#publicGrants,
      firstChannels: [],
      resumeId: null,
      endsAtMs: 0,
      rejection: { closeCode, reason: message },
    });
  }
}
