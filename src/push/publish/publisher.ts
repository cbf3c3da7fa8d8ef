import { BoundedMap } from "../../bounded-map.ts";
import { alreadyPublished, type Bus } from "../../bus/bus.ts";
import type { Clock } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { reasonText } from "../../reason/reason.ts";
import type { Hub } from "../fanout/hub.ts";
import { type BroadcastMessage, isLongerThan, maxIdLength, orderingKey } from "../message/message.ts";
import { type PublishRefusal, type PublishRequest, refusal } from "../message/publish-request.ts";
import { fingerprintOf, type Idempotency } from "./idempotency.ts";

/** Idempotency keys of an instance with several workers. */
export interface InstanceKeys {
  /** The first publish with the key, once it is done; null: this is the first, and it must be published or released. */
  claim(key: string, fingerprint: bigint): Promise<(Published & { fingerprint: bigint }) | null>;
  release(key: string): void;
}

export interface PublisherParts {
  /** Null: other workers have no part in it. */
  instanceKeys: InstanceKeys | null;
  bus: Bus;
  hub: Hub;
  idempotency: Idempotency;
  /** The time of messages. */
  clock: Clock;
  /** For deadlines. */
  steady: Clock;
  log: Logger;
  node: string;
  newId: () => string;
  maxMessageBytes: number;
}

export interface Published {
  id: string;
  /** Number of recipients; null in cluster mode, where no instance knows the number. */
  receivers: number | null;
}

/** A publish with an Idempotency-Key that is running, or ended a moment ago. */
interface KeyedPublish {
  fingerprint: bigint;
  published: Promise<Published>;
}

/** Receivers drop a second message with the same id, and report a missing number as a loss. */
interface MessageIdentity {
  id: string;
  /** 0: the bus would refuse the message, so it gets no number. */
  seq: number;
}

interface UnconfirmedPublish extends MessageIdentity {
  fingerprint: bigint;
  atMs: number;
}

/** An Idempotency-Key means something only to the caller that chose it. */
interface CallersKey {
  key: string;
  /** Empty: callers are not told apart. */
  caller: string;
}

/** A header has no line breaks, so that no caller can write the key of another. */
function scoped({ key, caller }: CallersKey): string {
  return caller === "" ? key : `${caller}\n${key}`;
}

interface IdempotencyKey {
  key: string;
  fingerprint: bigint;
}

/** Keys of unconfirmed publishes that are remembered for a repeat. */
const maxUnconfirmed = 10_000;

/** Limit of messages that the hub has deferred; above it a publish is refused with 503. */
const maxDeferredBytes = 64 * 1024 * 1024;

/** Within this time after its confirmation every working instance has read a message. */
const readBackMs = 10_000;

/** Gives each message an id and a sequence number and puts it on the bus. */
export class Publisher {
  readonly #parts: PublisherParts;
  readonly #isLocal: boolean;
  readonly #isDebug: boolean;
  readonly #keyedPublishes = new Map<string, KeyedPublish>();
  /** The broker may have written these messages, so a repeat of the key sends the same one. */
  readonly #unconfirmed = new BoundedMap<string, UnconfirmedPublish>(maxUnconfirmed);
  #seq = 0;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
    this.#isLocal = parts.bus.name === "local";
    this.#isDebug = parts.log.isLevelEnabled("debug");
  }

  get successText(): string {
    return this.#isLocal || this.#parts.bus.receipts
      ? "publish success"
      : "publish success, written to the message queue";
  }

  /** Returns without a promise if the message was sent at once. Rejects with Fault "too_large" or "unavailable". */
  publish(request: PublishRequest): Published | Promise<Published> {
    const publishing = this.#send(request);
    return this.#isDebug ? this.#logged(request, publishing) : publishing;
  }

  /** A repeat of a key returns the result of the first publish and publishes nothing. */
  async publishOnce(request: PublishRequest, given: CallersKey): Promise<Published | PublishRefusal> {
    if (given.key === "" || given.key.length > maxIdLength)
      return refusal(400, 40005, `Idempotency-Key must have 1 to ${maxIdLength} characters.`);
    const idempotencyKey = scoped(given);
    const fingerprint = fingerprintOf(request.targetType, request.target, request.data);
    const { instanceKeys } = this.#parts;
    const earlier = instanceKeys
      ? await this.#claim(instanceKeys, idempotencyKey, fingerprint)
      : this.#earlier(idempotencyKey);
    if (earlier && earlier.fingerprint !== fingerprint)
      return refusal(409, 40901, "This Idempotency-Key was used with another body; use a new key.");
    if (earlier) {
      if (this.#isDebug) this.#parts.log.debug({ id: (await earlier.published).id }, "publish repeated");
      return earlier.published;
    }
    const published = Promise.resolve(this.#send(request, { key: idempotencyKey, fingerprint }));
    this.#keyedPublishes.set(idempotencyKey, { fingerprint, published });
    const { idempotency, steady } = this.#parts;
    try {
      const { id, receivers } = await published;
      idempotency.published(idempotencyKey, receivers, steady.now());
      if (this.#isDebug) this.#log(request, { id, receivers });
      this.#unconfirmed.delete(idempotencyKey);
      this.#release(idempotencyKey);
      return { id, receivers };
    } catch (error) {
      this.#keyedPublishes.delete(idempotencyKey);
      instanceKeys?.release(idempotencyKey);
      throw error;
    }
  }

  async #claim(keys: InstanceKeys, key: string, fingerprint: bigint): Promise<KeyedPublish | undefined> {
    const first = await keys.claim(key, fingerprint);
    if (!first) return undefined;
    const { id, receivers } = first;
    return { fingerprint: first.fingerprint, published: Promise.resolve({ id, receivers }) };
  }

  /** In cluster mode the key becomes known only when this instance reads the message back from the broker. */
  #release(key: string): void {
    const { idempotency, steady } = this.#parts;
    if (idempotency.find(key, steady.now())) this.#keyedPublishes.delete(key);
    else setTimeout(() => this.#keyedPublishes.delete(key), readBackMs).unref();
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

  /** The first publish with the key: delivered, or still running, because two equal requests may arrive together. */
  #earlier(key: string): KeyedPublish | undefined {
    const running = this.#keyedPublishes.get(key);
    if (running) return running;
    const { idempotency, steady } = this.#parts;
    const delivered = idempotency.find(key, steady.now());
    if (!delivered) return undefined;
    const published = Promise.resolve({ id: delivered.id, receivers: delivered.receivers });
    return { fingerprint: delivered.fingerprint, published };
  }

  #newIdentity(): MessageIdentity {
    const { bus, newId } = this.#parts;
    return { id: newId(), seq: bus.accepts("broadcast") ? ++this.#seq : 0 };
  }

  #identityOf({ key, fingerprint }: IdempotencyKey): MessageIdentity {
    const { idempotency, steady } = this.#parts;
    const nowMs = steady.now();
    const known = this.#unconfirmed.get(key);
    // After the window the key belongs to a new message; receivers would drop a message with the earlier id.
    if (known?.fingerprint === fingerprint && known.atMs > nowMs - idempotency.windowMs) return known;
    const identity = this.#newIdentity();
    if (identity.seq > 0) this.#unconfirmed.set(key, { ...identity, fingerprint, atMs: nowMs });
    return identity;
  }

  #send(
    { targetType, target, data }: PublishRequest,
    idempotency?: IdempotencyKey,
  ): Published | Promise<Published> {
    const { bus, hub, clock, node, maxMessageBytes } = this.#parts;
    if (isLongerThan(data, maxMessageBytes)) return Promise.reject(tooLarge(maxMessageBytes));
    if (hub.deferredBytes > maxDeferredBytes) return Promise.reject(tooManyDeferred());
    const { id, seq } = idempotency ? this.#identityOf(idempotency) : this.#newIdentity();
    const message: BroadcastMessage = {
      v: 1,
      id,
      seq,
      ts: clock.now(),
      node,
      targetType,
      target,
      data,
    };
    if (idempotency) message.idempotencyKey = idempotency.key;
    const publishing = bus.publish("broadcast", orderingKey(targetType, target), message);
    if (publishing === alreadyPublished) return { id, receivers: hub.lastReceivers };
    // Counted before the message is sent: a recipient may close when it reads it.
    const receivers = this.#isLocal ? hub.receiversOf(targetType, target) : null;
    return publishing.then(() => ({ id, receivers: bus.receipts?.take(id) ?? receivers }));
  }
}

function tooLarge(maxMessageBytes: number): Fault {
  return new Fault("too_large", reasonText("data_over", { bytes: maxMessageBytes }));
}

function tooManyDeferred(): Fault {
  return new Fault("unavailable", "Too many messages wait to be delivered; try again in a second.", {
    retryAfterSeconds: 1,
  });
}
