import type { Clock } from "../../clock.ts";
import { ConnectRate } from "../../push/admission/connect-rate.ts";
import type { Calls } from "../protocol.ts";

export interface InstanceLimitOptions {
  maxConnections: number;
  /** 0: no limit. */
  maxConnectionsPerUser: number;
  /** Attempts per second and address; 0: no limit. */
  connectRate: number;
}

interface Held {
  places: number;
  connectionsOf: Map<string, number>;
}

/** The limits on connections, counted over all workers. A worker that ends gives back all that it held. */
export class InstanceLimits {
  readonly #options: InstanceLimitOptions;
  readonly #rate: ConnectRate;
  readonly #held = new Map<number, Held>();
  readonly #connectionsOf = new Map<string, number>();
  #places = 0;

  constructor(options: InstanceLimitOptions, clock: Clock) {
    this.#options = options;
    this.#rate = new ConnectRate(options.connectRate, clock);
  }

  enter(worker: number, { rateKey, takesPlace }: Calls["enter"]["args"]): Calls["enter"]["result"] {
    if (!this.#rate.allows(rateKey)) return "connect_rate";
    if (!takesPlace) return null;
    if (this.#places >= this.#options.maxConnections) return "full";
    this.#places++;
    this.#of(worker).places++;
    return null;
  }

  confirm(worker: number, userId: string): boolean {
    const count = this.#connectionsOf.get(userId) ?? 0;
    if (count >= this.#options.maxConnectionsPerUser) return false;
    const own = this.#of(worker).connectionsOf;
    this.#connectionsOf.set(userId, count + 1);
    own.set(userId, (own.get(userId) ?? 0) + 1);
    return true;
  }

  /** `userId` is null for a place that was not confirmed for a user. */
  leave(worker: number, userId: string | null): void {
    const held = this.#of(worker);
    held.places--;
    this.#places--;
    if (userId === null || !held.connectionsOf.has(userId)) return;
    decrease(held.connectionsOf, userId, 1);
    decrease(this.#connectionsOf, userId, 1);
  }

  removeWorker(worker: number): void {
    const held = this.#of(worker);
    this.#places -= held.places;
    for (const [userId, count] of held.connectionsOf) decrease(this.#connectionsOf, userId, count);
    this.#held.delete(worker);
  }

  #of(worker: number): Held {
    const held = this.#held.get(worker) ?? { places: 0, connectionsOf: new Map() };
    this.#held.set(worker, held);
    return held;
  }
}

function decrease(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) - by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
