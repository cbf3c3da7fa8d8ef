import type { Clock } from "../../clock.ts";
import type { Connections } from "../connection/connections.ts";
import { countAdmission, type PushCounters } from "../message/counters.ts";
import type { ConnectRate } from "./connect-rate.ts";
import { type RefusalReason, refusals } from "./refusals.ts";
import { TurnGate } from "./turn-gate.ts";
import type { CodeVerifier, VerifyResult } from "./verification-order.ts";
import type { VerifiedCode, VerifyRequest } from "./verified-code.ts";

/** A handshake before its parameters are read. */
export interface Handshake {
  /** Whether the request asks for a connection. */
  asksConnection: boolean;
  address: string;
  /** The key of the rate limit: the address, or its IPv6 network. */
  rateKey: string;
  origin: string | null;
}

export interface AdmissionRequest extends Pick<Handshake, "address" | "origin" | "rateKey"> {
  code: string | null;
  asksTemporary: boolean;
}

export interface AdmissionOptions {
  maxConnections: number;
  /** 0: no limit. */
  maxConnectionsPerUser: number;
  /** Calls of verify-uri, or of the store, at the same time. */
  maxVerifications: number;
}

/** The limits of an instance with several workers, which count together. */
export interface InstanceLimits {
  /** Counts an attempt, and takes a place under max-connections if `takesPlace`. Null: allowed. */
  enter(attempt: {
    rateKey: string;
    takesPlace: boolean;
  }): Promise<Extract<RefusalReason, "connect_rate" | "full"> | null>;
  /** Counts a connection of the user; false: the user has too many. */
  confirm(userId: string): Promise<boolean>;
  /** Gives the place back; `userId` is null if it was not confirmed. */
  leave(userId: string | null): void;
}

export interface AdmissionParts {
  /** Null: this process is the whole instance. */
  instance: InstanceLimits | null;
  isRefusing: () => boolean;
  /** False until the bus receives for the first time: earlier messages would not reach this instance. */
  hasReachedBus: () => boolean;
  isAllowedOrigin: (origin: string) => boolean;
  connectRate: ConnectRate;
  verifier: CodeVerifier;
  connections: Connections;
  counters: PushCounters;
  /** A connection was refused because all places are taken. */
  onFull(): void;
  /** For deadlines. */
  clock: Clock;
}

const maxCodeBytes = 4096;
/**
 * Starting a call of verify-uri takes about as long as a publish; open connections never wait for more than two. Asking the
 * database for an own code takes a fraction of that, and those of one turn share a transaction; a JWT is verified on a
 * thread of the runtime.
 */
const verificationsPerTurn = { remote: 2, local: 16 };
/** After a restart all clients come at once. They wait in order: clients that are refused would come again and again. */
const waiting = { maxWaiting: 10_000, waitMs: 10_000 };

/**
 * Decides which handshakes become connections. A place under max-connections is reserved before the code is verified, so
 * that concurrent verifications cannot exceed the limit. `release` frees the place.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #parts: AdmissionParts;
  readonly #remoteGate: TurnGate;
  readonly #localGate: TurnGate;
  #placesTaken = 0;
  #pending = 0;

  constructor(options: AdmissionOptions, parts: AdmissionParts) {
    this.#options = options;
    this.#parts = parts;
    // From 0 on, because a counter that appears with 1 has not increased for Prometheus.
    for (const reason of Object.keys(refusals)) parts.counters.admissions.set(reason, 0);
    const gate = (perTurn: number) =>
      new TurnGate({ ...waiting, perTurn, maxInside: options.maxVerifications, clock: parts.clock });
    this.#remoteGate = gate(verificationsPerTurn.remote);
    this.#localGate = gate(verificationsPerTurn.local);
  }

  get placesTaken(): number {
    return this.#placesTaken;
  }

  get pending(): number {
    return this.#pending;
  }

  get maxConnections(): number {
    return this.#options.maxConnections;
  }

  /** A client that is not a browser sends no origin. */
  allowsOrigin(origin: string | null): boolean {
    return origin === null || this.#parts.isAllowedOrigin(origin);
  }

  /** Counts a call that other processes have to handle as an attempt, so that a flood does not reach them. */
  async allowsCall(rateKey: string): Promise<boolean> {
    const { connectRate, instance } = this.#parts;
    if (!connectRate.allows(rateKey)) return false;
    return instance === null || (await instance.enter({ rateKey, takesPlace: false })) === null;
  }

  /** The checks that need neither the code nor a wait, so that a flood of attempts is refused cheaply. */
  refusalOf(handshake: Handshake): RefusalReason | null {
    const refusal = this.#check(handshake);
    if (refusal) countAdmission(this.#parts.counters, refusal);
    return refusal;
  }

  /** Why this process would refuse an attempt now, whatever its code is; null: it would verify the code. */
  refusalNow({ origin, rateKey }: Pick<Handshake, "origin" | "rateKey">): RefusalReason | null {
    const { connectRate, verifier } = this.#parts;
    if (!this.allowsOrigin(origin)) return "origin";
    if (connectRate.isReached(rateKey)) return "connect_rate";
    if (this.#placesTaken >= this.#options.maxConnections) return "full";
    return this.#remoteGate.isFull || verifier.isUnavailable ? "verify_unavailable" : null;
  }

  /** A verified code holds a place; a refusal holds none. */
  async admit(request: AdmissionRequest): Promise<VerifiedCode | RefusalReason> {
    const hasCode = isCode(request.code);
    const { instance } = this.#parts;
    const { rateKey } = request;
    const entered = instance ? await instance.enter({ rateKey, takesPlace: hasCode }) : null;
    const refusal = entered ?? (hasCode ? this.#reserve() : "code_missing");
    const result = refusal ?? (await this.#verify(request));
    if (typeof result === "string") countAdmission(this.#parts.counters, result);
    if (result === "full") this.#parts.onFull();
    return result;
  }

  /**
   * The last check. Without other workers it is in the same turn as the upgrade, so that concurrent connections of one
   * user are counted.
   */
  confirm({ userId }: VerifiedCode): RefusalReason | null | Promise<RefusalReason | null> {
    const { maxConnectionsPerUser } = this.#options;
    const { connections, instance } = this.#parts;
    if (maxConnectionsPerUser === 0) return null;
    if (instance)
      return instance.confirm(userId).then((isAllowed) => (isAllowed ? null : this.#refuseUser()));
    return connections.countOfUser(userId) < maxConnectionsPerUser ? null : this.#refuseUser();
  }

  /** Frees a place: the connection closed, or the upgrade failed. `userId` is null before it was confirmed. */
  release(userId: string | null): void {
    this.#placesTaken--;
    this.#parts.instance?.leave(userId);
  }

  #refuseUser(): RefusalReason {
    this.release(null);
    countAdmission(this.#parts.counters, "user_limit");
    return "user_limit";
  }

  #check({ asksConnection, origin, rateKey }: Handshake): RefusalReason | null {
    const { isRefusing, hasReachedBus, connectRate } = this.#parts;
    if (isRefusing()) return "draining";
    if (!hasReachedBus()) return "queue_not_reached";
    if (!asksConnection) return "not_upgrade";
    if (!this.allowsOrigin(origin)) return "origin";
    return connectRate.allows(rateKey) ? null : "connect_rate";
  }

  #reserve(): RefusalReason | null {
    this.#placesTaken++;
    if (this.#placesTaken <= this.#options.maxConnections) return null;
    this.release(null);
    return "full";
  }

  /** Verifies a new code of an open connection, which keeps its place. */
  async verifyAgain(request: VerifyRequest): Promise<VerifyResult> {
    return isCode(request.code) ? this.#ask(request) : "rejected";
  }

  async #verify({ code, ...request }: AdmissionRequest): Promise<VerifiedCode | RefusalReason> {
    let result: VerifiedCode | RefusalReason = "verify_unavailable";
    try {
      result = await this.#ask({ ...request, code: code ?? "" });
      return result;
    } finally {
      if (typeof result === "string") this.release(null);
    }
  }

  async #ask({ code, asksTemporary, address, origin }: VerifyRequest): Promise<VerifyResult> {
    const gate = this.#parts.verifier.isLocal(code) ? this.#localGate : this.#remoteGate;
    this.#pending++;
    try {
      if (!(await gate.pass())) return "verify_unavailable";
      return await this.#parts.verifier
        .verify({ code, asksTemporary, address, origin })
        .finally(() => gate.leave());
    } finally {
      this.#pending--;
    }
  }
}

function isCode(code: string | null): boolean {
  return code !== null && code !== "" && Buffer.byteLength(code) <= maxCodeBytes;
}
