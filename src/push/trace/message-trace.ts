import type { Clock } from "../../clock.ts";
import type { Logger } from "../../logger.ts";
import { oncePerSecond } from "../../once-per-second.ts";
import { traceFields } from "../../telemetry/trace-context.ts";
import { type Connection, closeCodes, type Socket } from "../connection/connection.ts";
import type { Connections } from "../connection/connections.ts";
import { isRecipient } from "../connection/recipients.ts";
import { failureCodes } from "../message/failure-codes.ts";
import type { PushedMessage } from "../message/message.ts";
import type { PublishRefusal } from "../message/publish-request.ts";
import type { TracedDelivery, TracedMessage } from "../message/traced-message.ts";
import { RecentEntries } from "./recent-entries.ts";
import { RefusedTokens } from "./refused-tokens.ts";
import { type ConnectionEvent, type MembershipEvent, UserEvents } from "./user-events.ts";

export interface MessageTraceParts {
  /** 0: nothing is traced. */
  maxMessages: number;
  connections: Connections;
  /** Instances where the user has a normal connection. */
  instancesOf: (userId: string) => string[];
  /** A client that does not read is closed within this time. */
  pongTimeoutMs: number;
  steady: Clock;
  log: Logger;
}

/** A publish that was not appended to the log: what is known of its target and content. */
export type UnpublishedMessage = Pick<TracedMessage, "id" | "ts" | "targetType" | "target"> & {
  targets: readonly string[] | null;
};

const maxBytes = 16 * 1024 * 1024;
/** Longer contents are not kept. */
const maxDataLength = 4096;
/** More deliveries of one message are only counted. */
const maxFollowed = 1_000;
/** Estimated memory of a message without its text, and of one of its deliveries or users. */
const entryBytes = 400;
const deliveryBytes = 200;

/**
 * What became of the last messages, in memory only. A message to all or to a channel costs one entry with counts; of a
 * message to users each delivery is followed until it is sent, acknowledged or lost.
 */
export class MessageTrace {
  readonly #parts: MessageTraceParts;
  /** Messages of the log. */
  readonly published: RecentEntries<TracedMessage>;
  /** Publishes that were refused or answered as repeats. Their own limit, so that they do not displace messages. */
  readonly unpublished: RecentEntries<TracedMessage>;
  readonly history: UserEvents<ConnectionEvent>;
  readonly memberships: UserEvents<MembershipEvent>;
  readonly refusedTokens: RefusedTokens;
  /** By connection id, in the order of time: deliveries that the end of the connection may concern. */
  readonly #open = new Map<string, TracedDelivery[]>();
  readonly #noteGap: () => void;

  constructor(parts: MessageTraceParts) {
    this.#parts = parts;
    const { maxMessages, steady, log } = parts;
    const limits = { maxBytes, bytesOf, onDropped: (entry: TracedMessage) => this.#forget(entry) };
    this.published = new RecentEntries({ ...limits, maxEntries: maxMessages });
    this.unpublished = new RecentEntries({ ...limits, maxEntries: Math.ceil(maxMessages / 10) });
    this.history = new UserEvents(maxMessages, steady);
    this.memberships = new UserEvents(maxMessages, steady);
    this.refusedTokens = new RefusedTokens(maxMessages > 0, steady, log);
    this.#noteGap = oncePerSecond(steady, (count) =>
      log.info({ count }, "clients resumed from positions that are no longer kept"),
    );
  }

  get isOn(): boolean {
    return this.#parts.maxMessages > 0;
  }

  /** Contents by message id; null: too long to be kept. */
  contents(ids: ReadonlySet<string>): Map<string, string | null> {
    const found = new Map<string, string | null>();
    for (const { id, data } of this.published.newestFirst()) if (ids.has(id)) found.set(id, data);
    return found;
  }

  /** A message was sent to the connections of this process, or added to what they wait for. */
  distributed(message: PushedMessage, written: number, waiting: number): void {
    if (!this.isOn) return;
    const entry = this.#entryOf(message, "distributed");
    entry.written = written;
    entry.waiting = waiting;
    if (entry.isFollowed) this.#follow(entry, message);
    this.published.add(entry);
  }

  /** A message was read during the start, before there were connections. */
  kept(message: PushedMessage): void {
    if (!this.isOn) return;
    this.published.add(this.#entryOf(message, "kept"));
  }

  /** A message was not delivered, because an earlier one has its idempotency key. */
  repeated(message: PushedMessage, firstId: string): void {
    // Another service may write a message twice with one id.
    if (!this.isOn || message.id === firstId) return;
    const entry = this.#entryOf(message, "repeated");
    entry.about = firstId;
    this.published.add(entry);
  }

  /** A publish was answered with the id of an earlier one, without a record of the log. */
  answeredAsRepeat(message: UnpublishedMessage, firstId: string): void {
    this.#addUnpublished(message, "repeated", 0, firstId);
  }

  refused(
    message: UnpublishedMessage,
    { code: failureCode, message: text }: PublishRefusal,
    /** The span that the log line names. */
    traceparent?: string | null,
  ): void {
    const { id, targetType, target } = message;
    const about = { id, targetType, target, failureCode, reason: text, ...traceFields(traceparent) };
    // The bus counts those that the queue refused in one line: an outage refuses all of them.
    const level = failureCode === failureCodes.unavailable ? "debug" : "info";
    this.#parts.log[level](about, "publish refused");
    this.#addUnpublished(message, "refused", failureCode, text);
  }

  /** A connection that resumes was sent the message. */
  sent({ trace: entry }: PushedMessage, socket: Socket): void {
    if (!entry?.isFollowed || entry.isDropped) return;
    const known = entry.deliveries?.find(({ connectionId }) => connectionId === socket.data.id);
    if (known) {
      known.state = "written";
      known.atMs = this.#parts.steady.now();
    } else this.#addDelivery(entry, socket, { isResumed: true });
  }

  /** False: the connection was not asked for this acknowledgement. */
  acknowledged({ data }: Socket, id: string): boolean {
    const delivery = this.#open.get(data.id)?.findLast(({ message }) => message.id === id);
    if (!delivery?.message.asksAck) return false;
    delivery.state = "acknowledged";
    delivery.atMs = this.#parts.steady.now();
    this.#close(delivery);
    return true;
  }

  opened({ data }: Socket, type: Exclude<ConnectionEvent["type"], "closed">): void {
    if (!this.isOn) return;
    const { id, userId, kind } = data;
    const atMs = this.#parts.steady.now();
    this.history.add({ userId, kind, type, closeCode: 0, atMs });
    if (type !== "gap") return;
    this.#noteGap();
    // Messages that arrived while it waited for its position are not sent to it.
    for (const delivery of this.#open.get(id) ?? []) {
      const { message } = delivery;
      message.deliveries = message.deliveries?.filter((each) => each !== delivery) ?? null;
    }
    this.#open.delete(id);
  }

  /** `closeCode`: of the connection that left because it was closed; 0 otherwise. */
  membershipChanged(
    { data: { userId, isConsole } }: Socket,
    channel: string,
    isMember: boolean,
    closeCode: number,
  ): void {
    if (!this.isOn || isConsole) return;
    const type = isMember ? "joined" : "left";
    this.memberships.add({ userId, channel, type, closeCode, atMs: this.#parts.steady.now() });
  }

  closed({ data }: Socket, closeCode: number): void {
    if (!this.isOn) return;
    const { id: connectionId, userId, kind } = data;
    const atMs = this.#parts.steady.now();
    this.history.add({ userId, kind, type: "closed", closeCode, atMs });
    for (const delivery of this.#open.get(connectionId) ?? []) {
      if (this.#isSettled(delivery)) continue;
      delivery.closeCode = closeCode;
      if (!isLost(delivery, data)) continue;
      delivery.state = "closed";
      delivery.atMs = atMs;
      this.#parts.log.info({ id: delivery.message.id, userId, connectionId, closeCode }, "delivery lost");
    }
    this.#open.delete(connectionId);
  }

  #entryOf(message: PushedMessage, state: TracedMessage["state"]): TracedMessage {
    const { id, offset, ts, targetType, target, targets = null, data, ack: asksAck } = message;
    const kept = data.length <= maxDataLength ? data : null;
    const atMs = this.#parts.steady.now() - (state === "kept" ? message.ageMs : 0);
    const known = { id, offset, ts, targetType, target, targets, data: kept, asksAck };
    const entry = newEntry(known, state, atMs);
    message.trace = entry;
    return entry;
  }

  #addUnpublished(
    { targets, ...message }: UnpublishedMessage,
    state: "repeated" | "refused",
    failureCode: number,
    about: string,
  ): void {
    if (!this.isOn) return;
    const known = {
      ...message,
      offset: -1,
      targets: targets && new Set(targets),
      data: null,
      asksAck: false,
    };
    this.unpublished.add({ ...newEntry(known, state, this.#parts.steady.now()), failureCode, about });
  }

  #follow(entry: TracedMessage, message: PushedMessage): void {
    const { connections, instancesOf } = this.#parts;
    if (!message.targets) entry.presentOn = instancesOf(message.target);
    for (const userId of message.targets ?? [message.target])
      for (const socket of connections.ofUser(userId)) {
        if (isRecipient(socket.data, message)) this.#addDelivery(entry, socket, { isResumed: false });
        else entry.otherKind++;
      }
  }

  #addDelivery(entry: TracedMessage, { data }: Socket, { isResumed }: { isResumed: boolean }): void {
    entry.deliveries ??= [];
    if (entry.deliveries.length >= maxFollowed) {
      entry.isPartial = true;
      return;
    }
    const { id: connectionId, userId, kind, isV1, catchUpPosition } = data;
    const state = !isResumed && catchUpPosition >= 0 ? "waiting" : "written";
    const atMs = this.#parts.steady.now();
    const delivery: TracedDelivery = {
      message: entry,
      userId,
      connectionId,
      kind,
      isV1,
      state,
      isResumed,
      closeCode: 0,
      atMs,
    };
    entry.deliveries.push(delivery);
    const open = this.#open.get(connectionId) ?? [];
    const following = open.findIndex((earlier) => !this.#isSettled(earlier));
    open.splice(0, following < 0 ? open.length : following);
    open.push(delivery);
    this.#open.set(connectionId, open);
  }

  /** Whether it was written long ago and no acknowledgement is awaited: a later end of the connection does not concern it. */
  #isSettled(delivery: TracedDelivery): boolean {
    const { steady, pongTimeoutMs } = this.#parts;
    if (delivery.state !== "written" || isAwaited(delivery)) return false;
    return steady.now() - delivery.atMs > pongTimeoutMs;
  }

  #forget(entry: TracedMessage): void {
    entry.isDropped = true;
    for (const delivery of entry.deliveries ?? []) this.#close(delivery);
  }

  #close(delivery: TracedDelivery): void {
    const { connectionId } = delivery;
    const open = this.#open.get(connectionId);
    const index = open?.indexOf(delivery) ?? -1;
    if (open && index >= 0) open.splice(index, 1);
    if (open?.length === 0) this.#open.delete(connectionId);
  }
}

type Known = Pick<
  TracedMessage,
  "id" | "offset" | "ts" | "targetType" | "target" | "targets" | "data" | "asksAck"
>;

function newEntry(known: Known, state: TracedMessage["state"], atMs: number): TracedMessage {
  return {
    ...known,
    state,
    atMs,
    failureCode: 0,
    about: "",
    written: 0,
    waiting: 0,
    isFollowed: known.targetType === "user" || known.targetType === "temp_user",
    deliveries: null,
    isPartial: false,
    otherKind: 0,
    presentOn: [],
    isDropped: false,
  };
}

/** Whether the client is expected to acknowledge. */
function isAwaited({ message, isV1 }: TracedDelivery): boolean {
  return message.asksAck && isV1;
}

/**
 * Whether a delivery is lost with its connection. What was written may have arrived, and without an acknowledgement nobody
 * knows. But a slow consumer has not read what was written since its last sign of life: that is in buffers of the system.
 */
function isLost(delivery: TracedDelivery, { stream, lastSeenAtMs }: Connection): boolean {
  if (delivery.state !== "written" || isAwaited(delivery)) return true;
  // An event stream gives no sign of life.
  return delivery.closeCode === closeCodes.slowConsumer && (stream !== null || delivery.atMs >= lastSeenAtMs);
}

function bytesOf({ data, targets, isFollowed, written, waiting }: TracedMessage): number {
  const followed = !isFollowed ? 0 : Math.min(written + waiting, maxFollowed);
  return entryBytes + 2 * (data?.length ?? 0) + (targets?.size ?? 0) * 96 + followed * deliveryBytes;
}
