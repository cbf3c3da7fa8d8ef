import { alreadyPublished, type Bus } from "../../bus/bus.ts";
import type { Clock } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { Hub } from "../fanout/hub.ts";
import { type BroadcastMessage, isLongerThan, keyOf, maxIdLength } from "../message/message.ts";
import { type PublishRefusal, type PublishRequest, refusal } from "../message/publish-request.ts";
import { fingerprintOf, type Idempotency } from "./idempotency.ts";

export interface PublisherParts {
  bus: Bus;
  hub: Hub;
  idempotency: Idempotency;
  /** Of messages, for people. */
  clock: Clock;
  /** For deadlines. */
  steady: Clock;
  log: Log;
  node: string;
  newId: () => string;
  maxMessageBytes: number;
}

export interface Published {
  id: string;
  /** Connections that were reached; null in cluster mode, where nobody knows them all. */
  receivers: number | null;
}

interface InFlight {
  fingerprint: bigint;
  published: Promise<Published>;
}

/** Messages that wait for slow sockets, all publishers together; above it a publish is refused with 503. */
const maxWaitingBytes = 64 * 1024 * 1024;

/** So long after its confirmation a message has been read on every instance that works. */
const readBackMs = 10_000;

/** Accepts a message: it gets its id, its place in order, and is on the bus when `publish` has resolved. */
export class Publisher {
  readonly #parts: PublisherParts;
  readonly #isLocal: boolean;
  readonly #isDebug: boolean;
  readonly #inFlight = new Map<string, InFlight>();
  #seq = 0;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
    this.#isLocal = parts.bus.name === "local";
    this.#isDebug = parts.log.isLevelEnabled("debug");
  }

  get successText(): string {
    return this.#isLocal ? "publish success" : "publish success, written to the message queue";
  }

  /**
   * Answers at once where the message went out at once. Rejects with Fault "too_large", or "unavailable" when it could
   * not be put on the bus.
   */
  publish(request: PublishRequest): Published | Promise<Published> {
    const publishing = this.#send(request, undefined);
    return this.#isDebug ? this.#logged(request, publishing) : publishing;
  }

  /** A repeat of a key answers what its first message was answered, without publishing again. */
  async publishOnce(request: PublishRequest, idempotencyKey: string): Promise<Published | PublishRefusal> {
    if (idempotencyKey === "" || idempotencyKey.length > maxIdLength)
      return refusal(400, 40005, `Idempotency-Key must have 1 to ${maxIdLength} characters.`);
    const fingerprint = fingerprintOf(request.targetType, request.target, request.data);
    const earlier = this.#earlier(idempotencyKey);
    if (earlier && earlier.fingerprint !== fingerprint)
      return refusal(409, 40901, "This Idempotency-Key was used with another body; use a new key.");
    if (earlier) {
      if (this.#isDebug) this.#parts.log.debug({ id: (await earlier.published).id }, "publish repeated");
      return earlier.published;
    }
    const published = Promise.resolve(this.#send(request, idempotencyKey));
    this.#inFlight.set(idempotencyKey, { fingerprint, published });
    const { idempotency, steady } = this.#parts;
    try {
      const { id, receivers } = await published;
      idempotency.published(idempotencyKey, receivers, steady.now());
      if (this.#isDebug) this.#log(request, { id, receivers });
      this.#forget(idempotencyKey);
      return { id, receivers };
    } catch (error) {
      this.#inFlight.delete(idempotencyKey);
      throw error;
    }
  }

  /** A message that the broker has confirmed becomes known by its key when it is read here, a moment later. */
  #forget(key: string): void {
    const { idempotency, steady } = this.#parts;
    if (idempotency.find(key, steady.now())) this.#inFlight.delete(key);
    else setTimeout(() => this.#inFlight.delete(key), readBackMs).unref();
  }

  async #logged(request: PublishRequest, publishing: Published | Promise<Published>): Promise<Published> {
    const published = await publishing;
    this.#log(request, published);
    return published;
  }

  /** Logs everything except the data. */
  #log({ targetType, target, data }: PublishRequest, published: Published): void {
    const bytes = Buffer.byteLength(data);
    this.#parts.log.debug({ ...published, targetType, target, bytes }, "published");
  }

  /** Delivered here already, or on its way: two equal requests may arrive together. */
  #earlier(key: string): InFlight | undefined {
    const inFlight = this.#inFlight.get(key);
    if (inFlight) return inFlight;
    const { idempotency, steady } = this.#parts;
    const delivered = idempotency.find(key, steady.now());
    if (!delivered) return undefined;
    const published = Promise.resolve({ id: delivered.id, receivers: delivered.receivers });
    return { fingerprint: delivered.fingerprint, published };
  }

  #send(
    { targetType, target, data }: PublishRequest,
    idempotencyKey: string | undefined,
  ): Published | Promise<Published> {
    const { bus, hub, clock, node, newId, maxMessageBytes } = this.#parts;
    if (isLongerThan(data, maxMessageBytes)) return Promise.reject(tooLarge(maxMessageBytes));
    if (hub.waitingBytes > maxWaitingBytes) return Promise.reject(tooMuchWaits());
    const id = newId();
    const message: BroadcastMessage = {
      v: 1,
      id,
      // Who misses a number takes it for a loss: what nobody will receive gets none.
      seq: bus.takes("broadcast") ? ++this.#seq : 0,
      ts: clock.now(),
      node,
      targetType,
      target,
      data,
    };
    if (idempotencyKey !== undefined) message.idempotencyKey = idempotencyKey;
    const publishing = bus.publish("broadcast", keyOf(targetType, target), message);
    if (publishing === alreadyPublished) return { id, receivers: hub.lastReceivers };
    // Counted before the message goes out: a receiver may close on reading it.
    const receivers = this.#isLocal ? hub.receiversOf(targetType, target) : null;
    return publishing.then(() => ({ id, receivers }));
  }
}

function tooLarge(maxMessageBytes: number): Fault {
  return new Fault("too_large", `data is larger than ${maxMessageBytes} bytes (push.max-message-bytes).`);
}

function tooMuchWaits(): Fault {
  return new Fault("unavailable", "Too much waits to be delivered; try again in a second.", {
    retryAfterSeconds: 1,
  });
}
