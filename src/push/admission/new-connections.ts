import type { Clock } from "../../clock.ts";
import { Connection } from "../connection/connection.ts";
import { type ChannelGrants, grantsOf, isPlainName, publicGrants } from "../connection/grants.ts";
import { type Expiry, longestLifetimeMs } from "./expiry.ts";
import type { RefusedAdmission } from "./refusals.ts";
import type { VerifiedCode } from "./verified-code.ts";

export interface NewConnectionOptions {
  publicChannels: readonly string[];
  tempMaxLifetimeMs: number;
  newId: () => string;
  steady: Clock;
  expiry: Expiry;
}

/** Parameters of a handshake other than its code. */
export interface HandshakeParameters {
  isV1: boolean;
  /** The name of an event stream; null: a WebSocket. */
  stream: string | null;
  channels: readonly string[];
  resumeId: string | null;
}

/** Creates the connection object of a socket. */
export class NewConnections {
  readonly #options: NewConnectionOptions;
  readonly #publicGrants: ChannelGrants;

  constructor(options: NewConnectionOptions) {
    this.#options = options;
    this.#publicGrants = publicGrants(options.publicChannels);
  }

  /** For an admitted handshake. */
  admitted(verified: VerifiedCode, parameters: HandshakeParameters): Connection {
    const { newId, steady, tempMaxLifetimeMs, expiry } = this.#options;
    const { channels, isTemporary } = verified;
    const lifetimeMs = Math.min(verified.maxLifetimeMs ?? tempMaxLifetimeMs, longestLifetimeMs);
    const joined = verified.joinsChannels ? (channels ?? []).filter(isPlainName) : [];
    return new Connection({
      id: newId(),
      userId: verified.userId,
      kind: isTemporary ? "temporary" : "normal",
      isV1: parameters.isV1,
      stream: parameters.stream,
      isConsole: verified.isConsole,
      grants: channels === null ? this.#publicGrants : grantsOf(channels),
      firstChannels: joined.length === 0 ? parameters.channels : [...joined, ...parameters.channels],
      resumeId: parameters.resumeId,
      endsAtMs: isTemporary && lifetimeMs > 0 ? steady.now() + lifetimeMs : 0,
      ...expiry.of(verified),
      rejection: null,
    });
  }

  /** For a socket that is opened only to be closed with the reason of a refusal. */
  refused({ closeCode, message }: RefusedAdmission): Connection {
    return new Connection({
      id: "",
      userId: "",
      kind: "normal",
      isV1: false,
      stream: null,
      isConsole: false,
      grants: this.#publicGrants,
      firstChannels: [],
      resumeId: null,
      endsAtMs: 0,
      expiresAtMs: 0,
      refreshAtMs: 0,
      rejection: { closeCode, reason: message },
    });
  }
}
