import { Counter, Histogram } from "prom-client";
import type { Metrics } from "../../metrics.ts";
import { type DeliveryCode, deliveryCodes } from "../../model/delivery.ts";
import { outcomes } from "./outcome.ts";

export function buildWebhookMetrics(registry: Metrics) {
  const registers = [registry];
  // The registry hashes labels at every increment; therefore counts are kept here and copied when metrics are read.
  // All begin at 0, because a counter that appears with 1 has not increased for Prometheus.
  const counts = Object.fromEntries(deliveryCodes.map((code) => [code, 0])) as Record<DeliveryCode, number>;
  const deliveries = new Counter({
    name: "slipway_webhook_deliveries_total",
    help: "Deliveries by status and code.",
    labelNames: ["status", "code"],
    registers,
    collect() {
      deliveries.reset();
      for (const code of deliveryCodes) {
        const { status } = outcomes[code];
        deliveries.inc({ status, code }, counts[code]);
      }
    },
  });
  const decision = new Histogram({
    name: "slipway_webhook_decision_seconds",
    help: "Time from the wait for the project's lock to the commit of the record.",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  });
  const cleaned = new Counter({
    name: "slipway_webhook_records_cleaned_total",
    help: "Delivery records deleted by retention.",
    registers,
  });
  return {
    recorded(code: DeliveryCode): void {
      counts[code]++;
    },
    /** Seconds from the wait for the lock to the commit. */
    decided: (seconds: number) => decision.observe(seconds),
    cleaned: (records: number) => cleaned.inc(records),
  };
}
export type WebhookMetrics = ReturnType<typeof buildWebhookMetrics>;
