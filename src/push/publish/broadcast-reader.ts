import { isMarker, type LogReader, type LogRecord, type Receipts } from "../../bus/log.ts";
import { isLaterRecord } from "../../bus/record-version.ts";
import type { Clock } from "../../clock.ts";
import type { Span, Telemetry } from "../../telemetry/telemetry.ts";
import type { Connections } from "../connection/connections.ts";
import type { Hub, Marker } from "../fanout/hub.ts";
import type { ResumeRing } from "../fanout/resume-ring.ts";
import type { PushCounters } from "../message/counters.ts";
import { type BroadcastRules, type PushedMessage, readBroadcast } from "../message/message.ts";
import type { SkippedRecords } from "../message/skipped-records.ts";
import type { MessageTrace } from "../trace/message-trace.ts";
import { type FirstUse, fingerprintOf, type Idempotency, scopedKey } from "./idempotency.ts";

export interface BroadcastReaderParts {
  hub: Hub;
  ring: ResumeRing;
  connections: Pick<Connections, "size">;
  idempotency: Idempotency;
  trace: MessageTrace;
  counters: PushCounters;
  rules: BroadcastRules;
  steady: Clock;
  telemetry: Telemetry;
  skipped: SkippedRecords;
  onCaughtUp: () => void;
  /** Called after records were delivered. */
  onAdvanced: () => void;
}

/**
 * Reads the log of messages: drops repeats, and passes the others to the hub. During the starting read nobody is connected:
 * messages are kept for clients that resume.
 */
export class BroadcastReader implements LogReader {
  readonly #parts: BroadcastReaderParts;
  #isCaughtUp = false;

  constructor(parts: BroadcastReaderParts) {
    this.#parts = parts;
  }

  receive(records: LogRecord[]): Receipts | Promise<Receipts> {
    return records.some(({ value }) => isLaterRecord(value))
      ? this.#receiveInParts(records)
      : this.#receiveAll(records);
  }

  /** A record of a later version may be a message for anybody here: what was kept before it is not all there is. */
  async #receiveInParts(records: LogRecord[]): Promise<Receipts> {
    const receipts: number[] = [];
    let from = 0;
    for (const [at, { value }] of records.entries()) {
      if (!isLaterRecord(value)) continue;
      receipts.push(...((await this.#receiveAll(records.slice(from, at))) ?? []));
      this.lost();
      from = at;
    }
    receipts.push(...((await this.#receiveAll(records.slice(from))) ?? []));
    return receipts;
  }

  #receiveAll(records: LogRecord[]): Receipts | Promise<Receipts> {
    const { hub, onAdvanced } = this.#parts;
    const entries = records.map((record) => this.#read(record));
    if (!this.#isCaughtUp) {
      for (const entry of entries) if (entry) this.#keep(entry);
      return undefined;
    }
    const spans = this.#parts.telemetry.isOn ? this.#spansOf(entries) : [];
    const receipts = () => {
      onAdvanced();
      for (const { span, message } of spans) endDelivery(span, message);
      return entries.map((entry) => entry?.receivers ?? 0);
    };
    const delivering = hub.deliver(entries.filter((entry) => entry !== null));
    return delivering ? delivering.then(receipts) : receipts();
  }

  caughtUp(): void {
    this.#isCaughtUp = true;
    this.#parts.onCaughtUp();
  }

  /** Open connections may have missed messages; without open connections it is not counted as a loss. */
  lost(): void {
    const { ring, connections, counters } = this.#parts;
    if (connections.size > 0) counters.losses++;
    ring.clear();
  }

  /** Begins a span for each message that was published as part of a trace. */
  #spansOf(entries: (PushedMessage | Marker | null)[]): DeliverySpan[] {
    const spans: DeliverySpan[] = [];
    for (const message of entries) {
      if (message === null || !("data" in message)) continue;
      const span = this.#parts.telemetry.start(message.traceparent, "deliver", "consumer");
      if (span) spans.push({ span, message });
    }
    return spans;
  }

  /** Null: the record is not delivered. */
  #read(record: LogRecord): PushedMessage | Marker | null {
    const { counters, rules, skipped } = this.#parts;
    const { offset, id, ageMs, value } = record;
    if (isMarker(value)) return { offset, id, ageMs, receivers: 0 };
    const message = readBroadcast(record, rules);
    if (!message) {
      skipped.note("broadcast", value, ageMs);
      // A client that got it from an instance that can read it may resume here.
      return isLaterRecord(value) ? { offset, id, ageMs, receivers: 0 } : null;
    }
    const first = record.isRepeat ? null : this.#firstUse(message);
    if (!record.isRepeat && (first === null || first.offset === offset)) return message;
    counters.repeated++;
    if (first) this.#parts.trace.repeated(message, first.id);
    // Not null, because another instance may have given the position to a client.
    return { offset, id, ageMs, receivers: 0 };
  }

  #keep(entry: PushedMessage | Marker): void {
    const { hub, trace } = this.#parts;
    hub.keep(entry);
    if ("data" in entry) trace.kept(entry);
  }

  /** The first record with the key of this one; null: it has no key. */
  #firstUse(message: PushedMessage): FirstUse | null {
    const { offset, id, ageMs, idempotencyKey, caller } = message;
    if (idempotencyKey === undefined) return null;
    const { idempotency, steady } = this.#parts;
    const fingerprint = fingerprintOf(message);
    const key = scopedKey(caller, idempotencyKey);
    const atMs = steady.now() - ageMs;
    return idempotency.read(key, { offset, id, fingerprint, atMs });
  }
}

interface DeliverySpan {
  span: Span;
  message: PushedMessage;
}

/** Of a message that no connection here gets there is no span: in a cluster that would be most of them. */
function endDelivery(span: Span, { id, receivers, targetType, target }: PushedMessage): void {
  if (receivers === 0) return;
  const about = { "slipway.push.target_type": targetType, "messaging.destination.name": target };
  span.end({ attributes: { ...about, "messaging.message.id": id, "slipway.push.receivers": receivers } });
}
