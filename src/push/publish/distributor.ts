import type { Bus, Recall } from "../../bus/bus.ts";
import type { Clock } from "../../clock.ts";
import type { Logger } from "../../logger.ts";
import { oncePerSecond } from "../../once-per-second.ts";
import type { Hub } from "../fanout/hub.ts";
import type { ResumeRing } from "../fanout/resume-ring.ts";
import type { PushCounters } from "../message/counters.ts";
import {
  type BroadcastMessage,
  type BroadcastRules,
  type ControlMessage,
  readBroadcast,
  readControl,
} from "../message/message.ts";
import { fingerprintOf, type Idempotency } from "./idempotency.ts";
import type { LossDetector } from "./loss-detector.ts";

export interface DistributorParts {
  bus: Bus;
  hub: Hub;
  /** Filled with the messages that other workers keep for clients that resume; null: there are none. */
  keptRing: ResumeRing | null;
  idempotency: Idempotency;
  counters: PushCounters;
  losses: LossDetector;
  /** The time of messages without one. */
  clock: Clock;
  /** For deadlines. */
  steady: Clock;
  log: Logger;
  newId: () => string;
  maxMessageBytes: number;
  /** Whether bare messages of other services to channels and users of the console are skipped. */
  reservesConsoleNames: boolean;
  control: (message: ControlMessage) => void;
  /** Called when control messages may have been lost. */
  controlLost: () => void;
}

/** Receives from the bus, in local and cluster mode: validates messages, drops repeats and passes the rest to the hub. */
export function distribute(parts: DistributorParts): void {
  const { bus, hub, counters, clock, steady, log, maxMessageBytes, reservesConsoleNames } = parts;
  const newIdAndTime = () => ({ id: parts.newId(), ts: clock.now() });
  const rules = { maxMessageBytes, reservesConsoleNames, newIdAndTime };
  const warnSkipped = oncePerSecond(steady, (skipped) =>
    log.warn({ skipped }, "skipped messages on the queue that are not valid push messages"),
  );
  const skip = () => {
    counters.unreadable++;
    warnSkipped();
  };

  const receive = (values: unknown[]) => {
    const messages: BroadcastMessage[] = [];
    for (const value of values) {
      const message = readBroadcast(value, rules);
      if (!message) {
        skip();
        continue;
      }
      parts.losses.observe(message);
      if (isFirst(parts, message)) messages.push(message);
      else counters.repeated++;
    }
    return hub.deliver(messages);
  };
  const recall: Recall = {
    windowMs: parts.idempotency.windowMs,
    handle(values) {
      for (const value of values) {
        const message = readBroadcast(value, rules);
        if (message) recallKey(parts, message);
      }
    },
  };
  if (parts.keptRing) Object.assign(recall, keptRecall(parts, parts.keptRing, rules));
  bus.subscribe("broadcast", receive, () => parts.losses.reportLoss(), recall);

  const obey = (values: unknown[]) => {
    for (const value of values) {
      const message = readControl(value);
      if (message) parts.control(message);
      else skip();
    }
  };
  bus.subscribe("control", obey, parts.controlLost);
}

/** All workers have the same messages at the same positions, so that a client can resume on each of them. */
function keptRecall(
  { steady }: DistributorParts,
  ring: ResumeRing,
  rules: BroadcastRules,
): Pick<Recall, "handleKept" | "endKept"> {
  let isStarted = false;
  const startAt = (position: number) => {
    if (!isStarted) ring.startAt(position);
    isStarted = true;
  };
  return {
    handleKept(value, { position, ageMs }) {
      startAt(position);
      const message = readBroadcast(value, rules);
      if (message) ring.add(message, Buffer.byteLength(message.data), steady.now() - ageMs);
    },
    endKept: startAt,
  };
}

/** Remembers the key of a message that other instances delivered before this one started consuming. */
function recallKey({ idempotency, clock, steady }: DistributorParts, message: BroadcastMessage): void {
  const { idempotencyKey, id, ts, targetType, target, data } = message;
  if (idempotencyKey === undefined) return;
  const fingerprint = fingerprintOf(targetType, target, data);
  const nowMs = steady.now();
  const ageMs = Math.max(0, clock.now() - ts);
  const record = { id, fingerprint, receivers: null, isRecalled: true, atMs: nowMs - ageMs };
  idempotency.recall(idempotencyKey, record, nowMs);
}

/** False for a repeated request of a caller. Redeliveries of the broker are dropped earlier, in the bus. */
function isFirst({ idempotency, steady }: DistributorParts, message: BroadcastMessage): boolean {
  const { idempotencyKey, id, targetType, target, data } = message;
  if (idempotencyKey === undefined) return true;
  return idempotency.remember(idempotencyKey, id, fingerprintOf(targetType, target, data), steady.now());
}
