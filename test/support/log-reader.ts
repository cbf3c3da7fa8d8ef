import type { Bus } from "../../src/bus/bus.ts";
import { isMarker, type LogName, type LogRecord } from "../../src/bus/log.ts";
import { eventually } from "./eventually.ts";

/** Longer than any test. */
export const windowMs = 300_000;

export interface BusReader {
  bus: Bus;
  /** Records of `broadcast` without markers. */
  records: LogRecord[];
  /** Ids of the records of `broadcast` without markers, and what else its reader was told: "caught up", "lost". */
  events: string[];
  /** The same of `control`. */
  control: string[];
  /** Offsets of all records of `broadcast`. */
  offsets: number[];
  isReady(): boolean;
}

/** Reads both logs of a bus and starts it. */
export function readBus(
  bus: Bus,
  handle?: (records: LogRecord[]) => void | Promise<void>,
  window = windowMs,
): BusReader {
  const reader: BusReader = {
    bus,
    records: [],
    events: [],
    control: [],
    offsets: [],
    isReady: () => bus.state().ready,
  };
  const read = (name: LogName, events: string[]) =>
    bus[name].read(window, {
      async receive(batch) {
        const messages = batch.filter(({ value }) => !isMarker(value));
        events.push(...messages.map(({ id }) => id));
        if (name === "control") return undefined;
        reader.offsets.push(...batch.map(({ offset }) => offset));
        reader.records.push(...messages);
        if (messages.length > 0) await handle?.(messages);
        return undefined;
      },
      caughtUp: () => events.push("caught up"),
      lost: () => events.push("lost"),
    });
  read("broadcast", reader.events);
  read("control", reader.control);
  bus.start();
  return reader;
}

export async function readyBus(...args: Parameters<typeof readBus>): Promise<BusReader> {
  const reader = readBus(...args);
  await eventually("the bus is ready", reader.isReady);
  return reader;
}

/** Whether an append or publish was confirmed. */
export function isTaken(sending: Promise<unknown>): Promise<boolean> {
  return sending.then(
    () => true,
    () => false,
  );
}
