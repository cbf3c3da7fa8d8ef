import { collectDefaultMetrics, Registry } from "prom-client";

/** One registry per app, so that two apps in one process (tests) do not meet. Each part adds its own metrics to it. */
export type Metrics = Registry;

export function buildMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "slipway_" });
  return registry;
}
