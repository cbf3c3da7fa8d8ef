import type { Clock } from "../../clock.ts";
import { Idempotency, idempotencyDefaults } from "../../push/publish/idempotency.ts";
import type { KeyFile } from "../../push/publish/key-file.ts";
import type { Calls, ClaimedKey } from "../protocol.ts";

type Grant = (result: Calls["claim"]["result"]) => void;

/** A key whose first publish is not done yet. */
interface Claim {
  worker: number;
  fingerprint: string;
  isPublishing: boolean;
  waiting: { worker: number; fingerprint: string; grant: Grant }[];
}

/**
 * The idempotency keys of all workers. A worker claims a key before it publishes; equal requests on other workers wait
 * for the result of the first.
 */
export class KeyClaims {
  readonly #keys: Idempotency;
  readonly #steady: Clock;
  readonly #claims = new Map<string, Claim>();

  constructor(keyFile: KeyFile, steady: Clock) {
    this.#keys = new Idempotency(idempotencyDefaults, keyFile);
    this.#steady = steady;
    for (const [key, record] of keyFile.load(idempotencyDefaults.windowMs))
      this.#keys.recall(key, record, steady.now());
  }

  claim(worker: number, { key, fingerprint }: Calls["claim"]["args"], grant: Grant): void {
    const claim = this.#claims.get(key);
    if (claim) {
      claim.waiting.push({ worker, fingerprint, grant });
      return;
    }
    const known = this.#known(key);
    if (!known) this.#claims.set(key, { worker, fingerprint, isPublishing: false, waiting: [] });
    grant(known);
  }

  /** The message has its place in the order: it is delivered, also if its worker ends now. */
  publishing(key: string): void {
    const claim = this.#claims.get(key);
    if (claim) claim.isPublishing = true;
  }

  published(key: string, id: string, receivers: number): void {
    const claim = this.#claims.get(key);
    if (!claim) return;
    const nowMs = this.#steady.now();
    this.#keys.remember(key, id, BigInt(claim.fingerprint), nowMs);
    this.#keys.published(key, receivers, nowMs);
    this.#claims.delete(key);
    for (const { grant } of claim.waiting) grant(this.#known(key));
  }

  /** The publish failed before the message had its place in the order: the next request may publish. */
  unclaim(worker: number, key: string): void {
    const claim = this.#claims.get(key);
    if (!claim || claim.worker !== worker || claim.isPublishing) return;
    this.#claims.delete(key);
    const [next, ...waiting] = claim.waiting;
    if (!next) return;
    const { grant, ...own } = next;
    this.#claims.set(key, { ...own, isPublishing: false, waiting });
    grant(null);
  }

  removeWorker(worker: number): void {
    for (const claim of this.#claims.values())
      claim.waiting = claim.waiting.filter((each) => each.worker !== worker);
    for (const [key, claim] of [...this.#claims]) if (claim.worker === worker) this.unclaim(worker, key);
  }

  dropOld(): void {
    this.#keys.dropOld(this.#steady.now());
  }

  #known(key: string): ClaimedKey | null {
    const record = this.#keys.find(key, this.#steady.now());
    if (!record) return null;
    return { id: record.id, fingerprint: String(record.fingerprint), receivers: record.receivers };
  }
}
