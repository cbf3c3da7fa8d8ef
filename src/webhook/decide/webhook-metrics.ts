import { Counter, Histogram } from "prom-client";
import type { Metrics } from "../../metrics.ts";
import type { DeliveryCode, DeliveryStatus } from "../../model/delivery.ts";

export function buildWebhookMetrics(registry: Metrics) {
  const registers = [registry];
  // The registry hashes labels at every increment; therefore counts are kept here and copied when metrics are read.
  const counts = new Map<DeliveryCode, { status: DeliveryStatus; count: number }>();
  const deliveries = new Counter({
    name: "slipway_webhook_deliveries_total",
    help: "Deliveries by status and code.",
    labelNames: ["status", "code"],
    registers,
    collect() {
      deliveries.reset();
      for (const [code, { status, count }] of counts) deliveries.inc({ status, code }, count);
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
    recorded(status: DeliveryStatus, code: DeliveryCode): void {
      const known = counts.get(code);
      if (known) known.count++;
      else counts.set(code, { status, count: 1 });
    },
    /** Seconds from the wait for the lock to the commit. */
    decided: (seconds: number) => decision.observe(seconds),
    cleaned: (records: number) => cleaned.inc(records),
  };
}
export type WebhookMetrics = ReturnType<typeof buildWebhookMetrics>;
