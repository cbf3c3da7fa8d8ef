import type { Connections } from "../connection/connections.ts";
import { countAdmission, type PushFigures } from "../message/figures.ts";
import type { CodeVerifier, Identity } from "./code-verifier.ts";
import type { ConnectRate } from "./connect-rate.ts";
import type { RefusalReason } from "./refusals.ts";
import { TurnGate } from "./turn-gate.ts";

/** Who knocks: all that is looked at before the question itself. */
export interface Arrival {
  isUpgrade: boolean;
  address: string;
  /** What attempts are counted by: the address, or its network. */
  rateKey: string;
  origin: string | null;
}

/** What a client asks for. */
export interface Attempt extends Pick<Arrival, "address" | "origin"> {
  code: string | null;
  asksTemporary: boolean;
}

export interface AdmissionOptions {
  maxConnections: number;
  /** 0: no limit. */
  maxConnectionsPerUser: number;
  maxPendingVerifications: number;
}

export interface AdmissionParts {
  isRefusing: () => boolean;
  /** False until the bus is ready for the first time: messages published before that would not arrive here. */
  hasHadBus: () => boolean;
  isAllowedOrigin: (origin: string) => boolean;
  connectRate: ConnectRate;
  verifier: CodeVerifier;
  connections: Connections;
  figures: PushFigures;
}

const maxCodeBytes = 4096;
/** To start one takes about as long as a publish: of a crowd at the door, those inside wait for two at a time. */
const verificationsPerTurn = 2;

/**
 * Decides who gets a connection. A place is reserved before anything is waited for, so that the limit holds however many
 * verifications are under way; whoever holds a place gives it back with `release`.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #parts: AdmissionParts;
  readonly #gate = new TurnGate(verificationsPerTurn);
  #placesTaken = 0;
  #pending = 0;

  constructor(options: AdmissionOptions, parts: AdmissionParts) {
    this.#options = options;
    this.#parts = parts;
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

  /** The checks that need neither the code nor a wait: a flood of attempts ends here, in the turn in which it came. */
  refusalAtDoor(arrival: Arrival): RefusalReason | null {
    const refusal = this.#refusalOf(arrival);
    if (refusal) countAdmission(this.#parts.figures, refusal);
    return refusal;
  }

  /** The answer is an identity that holds a place, or the reason why there is none; then nothing is held. */
  async admit(attempt: Attempt): Promise<Identity | RefusalReason> {
    const refusal = isCode(attempt.code) ? this.#reserve() : "code_missing";
    const verdict = refusal ?? (await this.#verify(attempt));
    if (typeof verdict === "string") countAdmission(this.#parts.figures, verdict);
    return verdict;
  }

  /** The last check, in the same turn as the upgrade: connections of one user that race must see each other. */
  confirm({ userId }: Identity): RefusalReason | null {
    const { maxConnectionsPerUser } = this.#options;
    const { connections, figures } = this.#parts;
    if (maxConnectionsPerUser === 0 || connections.countOfUser(userId) < maxConnectionsPerUser) return null;
    this.release();
    countAdmission(figures, "user_limit");
    return "user_limit";
  }

  /** Gives a place back: the connection closed, or never came to be. */
  release(): void {
    this.#placesTaken--;
  }

  #refusalOf({ isUpgrade, origin, rateKey }: Arrival): RefusalReason | null {
    const { isRefusing, hasHadBus, isAllowedOrigin, connectRate } = this.#parts;
    if (isRefusing()) return "draining";
    if (!hasHadBus()) return "queue_not_reached";
    if (!isUpgrade) return "not_upgrade";
    if (origin !== null && !isAllowedOrigin(origin)) return "origin";
    return connectRate.allows(rateKey) ? null : "connect_rate";
  }

  #reserve(): RefusalReason | null {
    if (this.#placesTaken >= this.#options.maxConnections) return "full";
    if (this.#pending >= this.#options.maxPendingVerifications) return "verify_unavailable";
    this.#placesTaken++;
    return null;
  }

  async #verify(attempt: Attempt): Promise<Identity | RefusalReason> {
    this.#pending++;
    let verdict: Identity | RefusalReason = "verify_unavailable";
    try {
      await this.#gate.pass();
      verdict = await this.#parts.verifier.verify({
        code: attempt.code ?? "",
        asksTemporary: attempt.asksTemporary,
        address: attempt.address,
        origin: attempt.origin,
      });
      return verdict;
    } finally {
      this.#pending--;
      if (typeof verdict === "string") this.release();
    }
  }
}

function isCode(code: string | null): boolean {
  return code !== null && code !== "" && Buffer.byteLength(code) <= maxCodeBytes;
}
