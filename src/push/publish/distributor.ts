import type { Bus, Recall } from "../../bus/bus.ts";
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import { oncePerSecond } from "../../once-per-second.ts";
import type { Hub } from "../fanout/hub.ts";
import type { PushFigures } from "../message/figures.ts";
import {
  type BroadcastMessage,
  type ControlMessage,
  readBroadcast,
  readControl,
} from "../message/message.ts";
import { fingerprintOf, type Idempotency } from "./idempotency.ts";

export interface DistributorParts {
  bus: Bus;
  hub: Hub;
  idempotency: Idempotency;
  figures: PushFigures;
  /** Told of every message, so that one that is missing is noticed. */
  arrived: (message: BroadcastMessage) => void;
  /** Told when the bus cannot say that everything came. */
  lost: () => void;
  /** Of messages that bring no time along, for people. */
  clock: Clock;
  /** For deadlines. */
  steady: Clock;
  log: Log;
  newId: () => string;
  maxMessageBytes: number;
  /** Whether bare messages of other services to the console's channels are skipped. */
  reservesConsoleNames: boolean;
  control: (message: ControlMessage) => void;
}

/** The one way in, in both modes: what the bus hands over is read, freed of repeats, and given to the hub. */
export function distribute(parts: DistributorParts): void {
  const { bus, hub, figures, clock, steady, log, maxMessageBytes, reservesConsoleNames } = parts;
  const identify = () => ({ id: parts.newId(), ts: clock.now() });
  const rules = { maxMessageBytes, reservesConsoleNames, identify };
  const complain = oncePerSecond(steady, (skipped) =>
    log.warn({ skipped }, "skipped messages on the queue that are no push messages"),
  );
  const skip = () => {
    figures.unreadable++;
    complain();
  };

  const receive = (values: unknown[]) => {
    const messages: BroadcastMessage[] = [];
    for (const value of values) {
      const message = readBroadcast(value, rules);
      if (!message) {
        skip();
        continue;
      }
      parts.arrived(message);
      if (isFirst(parts, message)) messages.push(message);
      else figures.repeated++;
    }
    return hub.deliver(messages);
  };
  const recall: Recall = {
    windowMs: parts.idempotency.windowMs,
    handle(values) {
      for (const value of values) {
        const message = readBroadcast(value, rules);
        if (message) remember(parts, message);
      }
    },
  };
  bus.subscribe("broadcast", receive, parts.lost, recall);

  bus.subscribe("control", (values) => {
    for (const value of values) {
      const message = readControl(value);
      if (message) parts.control(message);
      else skip();
    }
  });
}

/** The key of a message that was delivered before this instance started consuming. */
function remember({ idempotency, clock, steady }: DistributorParts, message: BroadcastMessage): void {
  const { idempotencyKey, id, ts, targetType, target, data } = message;
  if (idempotencyKey === undefined) return;
  const fingerprint = fingerprintOf(targetType, target, data);
  const nowMs = steady.now();
  const ageMs = Math.max(0, clock.now() - ts);
  const remembered = { id, fingerprint, receivers: null, isRecalled: true, atMs: nowMs - ageMs };
  idempotency.recall(idempotencyKey, remembered, nowMs);
}

/** Callers send again after a lost answer. What a broker delivers again the bus has dropped already, by id. */
function isFirst({ idempotency, steady }: DistributorParts, message: BroadcastMessage): boolean {
  const { idempotencyKey, id, targetType, target, data } = message;
  if (idempotencyKey === undefined) return true;
  return idempotency.remember(idempotencyKey, id, fingerprintOf(targetType, target, data), steady.now());
}
