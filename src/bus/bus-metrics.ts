import { type Metrics, metricGroup } from "../metrics.ts";
import type { ExternalTopic } from "./bus.ts";
import type { Log, LogFigures, LogName } from "./log.ts";

/** Plain numbers, because hot paths increment them; the metrics registry reads them for each scrape. */
export function newBusCounters() {
  return {
    confirmed: { broadcast: 0, control: 0, client: 0, events: 0 } satisfies Record<
      LogName | ExternalTopic,
      number
    >,
    refused: 0,
    /** Opened sessions: each one after the first follows a lost connection. */
    sessions: 0,
  };
}
export type BusCounters = ReturnType<typeof newBusCounters>;

export interface BusMetricsParts {
  counters: BusCounters;
  isReady: () => boolean;
  inFlight: () => number;
  received: () => number;
}

export function registerBusMetrics(
  registry: Metrics,
  { counters, isReady, inFlight, received }: BusMetricsParts,
): void {
  const { gauge, counter, labelledCounter } = metricGroup(registry, "slipway_queue_");
  gauge("ready", "1 while reading from the message queue and able to publish.", () => (isReady() ? 1 : 0));
  gauge("in_flight", "Messages that wait for the confirmation of the broker.", inFlight);
  counter("refused_total", "Publishes that were refused or not confirmed in time.", () => counters.refused);
  counter("received_total", "Records received from the queue.", received);
  counter("sessions_total", "Sessions opened with the broker.", () => counters.sessions);
  labelledCounter("confirmed_total", "Messages that the broker confirmed, by topic.", "topic", () =>
    Object.entries(counters.confirmed),
  );
}

/** Figures of the logs that this instance reads. */
export function registerLogMetrics(registry: Metrics, logs: Record<LogName, Log>): void {
  const { labelledGauge } = metricGroup(registry, "slipway_log_");
  const add = (name: string, help: string, figure: keyof LogFigures) =>
    labelledGauge(name, help, "log", () => [
      ["broadcast", logs.broadcast.figures()[figure]],
      ["control", logs.control.figures()[figure]],
    ]);
  add("offset", "Offset of the last record that was handled; -1: none.", "offset");
  add("oldest_offset", "The oldest offset that can still be read; -1: unknown.", "oldestOffset");
  add("lag_records", "Records that are known and not handled yet.", "lagRecords");
  add("lag_seconds", "Age of the oldest known record that is not handled.", "lagSeconds");
  add("starting_read_seconds", "How long the last starting read took.", "startingReadSeconds");
}
