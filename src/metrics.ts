import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** One registry per app, so that two apps in one process (tests) stay separate. Each part adds its own metrics. */
export type Metrics = Registry;

/** The default, 10 ms, wakes an idle process a hundred times a second and costs half a percent of a core. */
const eventLoopMonitoringPrecision = 100;

export function buildMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "slipway_", eventLoopMonitoringPrecision });
  replaceHeap(registry);
  removeHeapSpaces(registry);
  return registry;
}

/** prom-client reports the whole data segment, of which the runtime reserves gigabytes without using them. */
function replaceHeap(registry: Metrics): void {
  const name = "slipway_process_heap_bytes";
  registry.removeSingleMetric(name);
  new Gauge({
    name,
    help: "JavaScript heap size in bytes.",
    registers: [registry],
    collect() {
      this.set(process.memoryUsage().heapTotal);
    },
  });
}

/** Bun has no V8 heap spaces, and emulating them walks the heap: 300,000 objects block the event loop for 300 ms. */
function removeHeapSpaces(registry: Metrics): void {
  for (const part of ["total", "used", "available"])
    registry.removeSingleMetric(`slipway_nodejs_heap_space_size_${part}_bytes`);
}

/** Adds metrics whose names start with `prefix` and whose values are read for each scrape. */
export function metricGroup(registry: Metrics, prefix: string) {
  const registers = [registry];
  return {
    gauge(name: string, help: string, read: () => number): void {
      new Gauge({
        name: prefix + name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    },
    /** A gauge with one value per value of `label`. */
    labelledGauge(name: string, help: string, label: string, read: () => Iterable<[string, number]>): void {
      new Gauge({
        name: prefix + name,
        help,
        registers,
        labelNames: [label],
        collect() {
          for (const [value, figure] of read()) this.set({ [label]: value }, figure);
        },
      });
    },
    counter(name: string, help: string, read: () => number): void {
      new Counter({
        name: prefix + name,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    },
    /** A counter with one value per value of `label`. */
    labelledCounter(name: string, help: string, label: string, read: () => Iterable<[string, number]>): void {
      new Counter({
        name: prefix + name,
        help,
        registers,
        labelNames: [label],
        collect() {
          this.reset();
          for (const [value, count] of read()) this.inc({ [label]: value }, count);
        },
      });
    },
  };
}
