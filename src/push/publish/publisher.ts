import type { Log } from "../../bus/log.ts";
import { writtenVersion } from "../../bus/record-version.ts";
import type { Clock } from "../../clock.ts";
import { Fault, messageOf } from "../../errors.ts";
import { isObject } from "../../json.ts";
import type { Logger } from "../../logger.ts";
import { newReason } from "../../reason/reason.ts";
import type { Span, Telemetry } from "../../telemetry/telemetry.ts";
import { traceFields } from "../../telemetry/trace-context.ts";
import type { Hub } from "../fanout/hub.ts";
import { failureCodes } from "../message/failure-codes.ts";
import {
  type BroadcastMessage,
  isLongerThan,
  isTargetType,
  isTextList,
  maxIdLength,
} from "../message/message.ts";
import { type PublishRefusal, type PublishRequest, refusal } from "../message/publish-request.ts";
import type { MessageTrace, UnpublishedMessage } from "../trace/message-trace.ts";
import { fingerprintOf, type Idempotency, scopedKey } from "./idempotency.ts";

export interface PublisherParts {
  broadcast: Log;
  /** Whether other instances read the log too. */
  isCluster: boolean;
  hub: Pick<Hub, "deferredBytes">;
  trace: Pick<MessageTrace, "refused" | "answeredAsRepeat">;
  idempotency: Idempotency;
  /** The time of messages. */
  clock: Clock;
  /** For deadlines. */
  steady: Clock;
  telemetry: Telemetry;
  log: Logger;
  node: string;
  newId: () => string;
  maxMessageBytes: number;
}

export interface Published {
  id: string;
  /** Number of recipients; null for a repeat, and in cluster mode, where no instance knows the number. */
  receivers: number | null;
}

/** An idempotency key and the caller that chose it. */
export interface CallerKey {
  key: string;
  /** Identifies the caller; keys of different callers are independent. */
  caller: string;
}

/** Limit of messages that the hub has deferred; above it a publish is refused with 503. */
const maxDeferredBytes = 64 * 1024 * 1024;

/** How long a publish with a key waits until this instance has read its record; below the documented 5 s. */
const readBackMs = 4_500;

/** Gives each message an id and appends it to the log. */
export class Publisher {
  readonly #parts: PublisherParts;
  readonly #isDebug: boolean;
  #seq = 0;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
    this.#isDebug = parts.log.isLevelEnabled("debug");
  }

  get successText(): string {
    return this.#parts.isCluster ? "publish success, written to the message queue" : "publish success";
  }

  /** Rejects with Fault "too_large" or "unavailable". Not `async`: each promise costs about 1 µs of the 20 of a publish. */
  publish(request: PublishRequest): Promise<Published> {
    const span = this.#spanOf(request);
    const publishing = this.#append(this.#messageOf(request, span));
    if (span) return this.#ended(span, request, publishing);
    return this.#isDebug ? publishing.then((published) => this.#log(request, published)) : publishing;
  }

  /** Null: the publish is not part of a trace. */
  #spanOf({ traceparent }: PublishRequest): Span | null {
    return traceparent === undefined ? null : this.#parts.telemetry.start(traceparent, "publish", "producer");
  }

  async #ended<P extends Published | PublishRefusal>(
    span: Span,
    request: PublishRequest,
    publishing: Promise<P>,
  ): Promise<P> {
    const { targetType, target } = request;
    const about = { "slipway.push.target_type": targetType, "messaging.destination.name": target };
    try {
      const published = await publishing;
      if ("code" in published) span.end({ attributes: about, fault: published.message });
      else {
        const { id, receivers } = published;
        const counted = receivers === null ? {} : { "slipway.push.receivers": receivers };
        span.end({ attributes: { ...about, "messaging.message.id": id, ...counted } });
        if (this.#isDebug) this.#log({ ...request, traceparent: span.traceparent }, published);
      }
      return published;
    } catch (error) {
      span.end({ attributes: about, fault: messageOf(error) });
      throw error;
    }
  }

  /** A repeat of a key returns the id of the first publish and delivers nothing. */
  publishOnce(request: PublishRequest, key: CallerKey): Promise<Published | PublishRefusal> {
    const span = this.#spanOf(request);
    const publishing = this.#publishOnce(request, key, span);
    return span ? this.#ended(span, request, publishing) : publishing;
  }

  async #publishOnce(
    request: PublishRequest,
    { key, caller }: CallerKey,
    span: Span | null,
  ): Promise<Published | PublishRefusal> {
    if (key === "" || key.length > maxIdLength)
      return this.refuse(
        request,
        refusal(failureCodes.idempotencyKey, `Idempotency-Key must have 1 to ${maxIdLength} characters.`),
        request.traceparent,
      );
    const { idempotency, steady, log, trace } = this.#parts;
    const fingerprint = fingerprintOf(request);
    const known = idempotency.find(scopedKey(caller, key), steady.now());
    const { first, receivers } = known
      ? { first: known, receivers: null }
      : await this.#appendKeyed(request, { key, caller }, span);
    if (first.fingerprint !== fingerprint)
      return this.refuse(
        request,
        refusal(
          failureCodes.idempotencyKeyReused,
          "This Idempotency-Key was used with another body; use a new key.",
        ),
        request.traceparent,
      );
    if (known) trace.answeredAsRepeat(this.#unpublished(request), known.id);
    const published = { id: first.id, receivers };
    if (this.#isDebug && receivers === null) log.debug(published, "publish repeated");
    else if (this.#isDebug && span === null) this.#log(request, published);
    return published;
  }

  /** Notes in the trace that a publish is refused; `body` may be anything that a caller has sent. */
  refuse(body: unknown, refused: PublishRefusal, traceparent?: string | null): PublishRefusal {
    const { trace, telemetry } = this.#parts;
    const named = telemetry.isOn ? traceparent : null;
    trace.refused(this.#unpublished(isObject(body) ? body : {}), refused, named);
    return refused;
  }

  #unpublished(
    { targetType, target, targets }: Partial<Record<keyof PublishRequest, unknown>>,
    id = this.#parts.newId(),
  ): UnpublishedMessage {
    return {
      id,
      ts: this.#parts.clock.now(),
      targetType: isTargetType(targetType) ? targetType : "",
      target: typeof target === "string" ? target.slice(0, maxIdLength) : "",
      targets: isTextList(targets) ? targets : null,
    };
  }

  /** Which of two records with one key counts is known when the record was read back. */
  async #appendKeyed(request: PublishRequest, { key, caller }: CallerKey, span: Span | null) {
    const message: BroadcastMessage = { ...this.#messageOf(request, span), idempotencyKey: key, caller };
    const reading = this.#parts.idempotency.whenRead(message.id);
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(this.#noted(message, notReadBack())), readBackMs);
    try {
      const published = await Promise.race([this.#append(message), late.promise]);
      const first = await Promise.race([reading.first, late.promise]);
      return { first, receivers: first.id === message.id ? published.receivers : null };
    } finally {
      clearTimeout(timer);
      reading.forget();
    }
  }

  #append(message: BroadcastMessage): Promise<Published> {
    const { broadcast, hub, maxMessageBytes } = this.#parts;
    if (isLongerThan(message.data, maxMessageBytes)) return this.#fail(message, tooLarge(maxMessageBytes));
    if (hub.deferredBytes > maxDeferredBytes) return this.#fail(message, tooManyDeferred());
    return broadcast.append(message).then(
      (receivers) => ({ id: message.id, receivers }),
      (error: Error) => this.#fail(message, error),
    );
  }

  #fail(message: BroadcastMessage, error: Error): Promise<never> {
    return Promise.reject(this.#noted(message, error));
  }

  #noted(message: BroadcastMessage, error: Error): Error {
    const isTooLarge = error instanceof Fault && error.code === "too_large";
    const code = isTooLarge ? failureCodes.tooLarge : failureCodes.unavailable;
    const unpublished = this.#unpublished(message, message.id);
    this.#parts.trace.refused(unpublished, refusal(code, error.message), message.traceparent);
    return error;
  }

  #messageOf(
    { targetType, target, targets, data, ack }: PublishRequest,
    span: Span | null,
  ): BroadcastMessage {
    const { clock, node, newId } = this.#parts;
    const message = { v: writtenVersion, id: newId(), seq: ++this.#seq, ts: clock.now(), node } as const;
    return {
      ...message,
      ...{ targetType, target, data },
      ...(targets && { targets }),
      ...(ack && { ack }),
      ...(span && { traceparent: span.traceparent }),
    };
  }

  /** Logs everything except the data. */
  #log({ targetType, target, targets, data, traceparent }: PublishRequest, published: Published): Published {
    const bytes = Buffer.byteLength(data);
    const users = targets ? { users: targets.length } : {};
    const about = { ...published, targetType, target, ...users, bytes, ...traceFields(traceparent) };
    this.#parts.log.debug(about, "published");
    return published;
  }
}

function tooLarge(maxMessageBytes: number): Fault {
  return new Fault("too_large", newReason("data_over", { bytes: maxMessageBytes }));
}

function tooManyDeferred(): Fault {
  return new Fault("unavailable", "Too many messages wait to be delivered; try again in a second.", {
    retryAfterSeconds: 1,
  });
}

function notReadBack(): Fault {
  return new Fault(
    "unavailable",
    "The message was not read back from the message queue in time; repeat the call with the same Idempotency-Key.",
    { retryAfterSeconds: 1 },
  );
}
