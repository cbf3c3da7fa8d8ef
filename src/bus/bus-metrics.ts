import { Counter, Gauge } from "prom-client";
import type { Metrics } from "../metrics.ts";
import type { Topic } from "./bus.ts";

/** Plain numbers that the hot paths count in; the registry reads them when it is asked. */
export interface BusCounters {
  confirmed: Record<Topic, number>;
  refused: number;
  received: number;
  /** Sessions that were opened: above one, the connection was lost so often. */
  sessions: number;
}

export function newBusCounters(): BusCounters {
  return {
    confirmed: { broadcast: 0, control: 0, client: 0, events: 0 },
    refused: 0,
    received: 0,
    sessions: 0,
  };
}

export interface BusMetricsParts {
  counters: BusCounters;
  isReady: () => boolean;
  inFlight: () => number;
}

export function registerBusMetrics(
  registry: Metrics,
  { counters, isReady, inFlight }: BusMetricsParts,
): void {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name: `slipway_queue_${name}`,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name: `slipway_queue_${name}_total`,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  gauge("ready", "1 while consuming from the message queue and able to publish.", () => (isReady() ? 1 : 0));
  gauge("in_flight", "Messages that wait for the confirmation of the broker.", inFlight);
  counter("refused", "Publishes that were refused or not confirmed in time.", () => counters.refused);
  counter("received", "Messages received from the queue, without doubles.", () => counters.received);
  counter("sessions", "Sessions opened with the broker.", () => counters.sessions);
  new Counter({
    name: "slipway_queue_confirmed_total",
    help: "Messages that the broker confirmed, by topic.",
    registers,
    labelNames: ["topic"],
    collect() {
      this.reset();
      for (const [topic, count] of Object.entries(counters.confirmed)) this.inc({ topic }, count);
    },
  });
}
