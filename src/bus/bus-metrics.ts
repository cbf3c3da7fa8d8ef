import { type Metrics, metricGroup } from "../metrics.ts";
import type { Topic } from "./bus.ts";

/** Plain numbers, because hot paths increment them; the metrics registry reads them for each scrape. */
export function newBusCounters() {
  return {
    confirmed: { broadcast: 0, control: 0, client: 0, events: 0 } satisfies Record<Topic, number>,
    refused: 0,
    received: 0,
    /** Opened sessions: each one after the first follows a lost connection. */
    sessions: 0,
  };
}
export type BusCounters = ReturnType<typeof newBusCounters>;

export interface BusMetricsParts {
  counters: BusCounters;
  isReady: () => boolean;
  inFlight: () => number;
}

export function registerBusMetrics(
  registry: Metrics,
  { counters, isReady, inFlight }: BusMetricsParts,
): void {
  const { gauge, counter, labelledCounter } = metricGroup(registry, "slipway_queue_");
  gauge("ready", "1 while consuming from the message queue and able to publish.", () => (isReady() ? 1 : 0));
  gauge("in_flight", "Messages that wait for the confirmation of the broker.", inFlight);
  counter("refused_total", "Publishes that were refused or not confirmed in time.", () => counters.refused);
  counter("received_total", "Messages received from the queue, without duplicates.", () => counters.received);
  counter("sessions_total", "Sessions opened with the broker.", () => counters.sessions);
  labelledCounter("confirmed_total", "Messages that the broker confirmed, by topic.", "topic", () =>
    Object.entries(counters.confirmed),
  );
}
