import { collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** One registry per app, so that two apps in one process (tests) do not meet. Each part adds its own metrics to it. */
export type Metrics = Registry;

/** The default, 10 ms, wakes an idle process a hundred times a second: half a percent of a core for nothing. */
const eventLoopMonitoringPrecision = 100;

export function buildMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "slipway_", eventLoopMonitoringPrecision });
  replaceHeap(registry);
  removeHeapSpaces(registry);
  return registry;
}

/** The library takes the whole data segment for it, of which the runtime reserves gigabytes that it never uses. */
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

/** Spaces of V8, which this runtime does not have. To answer it walks the whole heap: 300 ms of the loop for 300,000 objects. */
function removeHeapSpaces(registry: Metrics): void {
  for (const part of ["total", "used", "available"])
    registry.removeSingleMetric(`slipway_nodejs_heap_space_size_${part}_bytes`);
}
