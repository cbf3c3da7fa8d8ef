import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from "prom-client";
import type { Clock } from "../../clock.ts";
import type { Calls } from "../protocol.ts";

/** The metrics of one process. */
export interface ProcessMetrics {
  /** Differs for each process, also for a replacement. */
  boot: string;
  metrics: ProcessMetric[];
}

type ProcessMetric = MetricObjectWithValues<Value>;

type Value = MetricValue<string> & { metricName?: string };
type Rule = "sum" | "max" | "min";

/** Every worker counts or holds the same messages. */
const sameOnAllWorkers = [
  "slipway_push_messages_total",
  "slipway_push_repeated_total",
  "slipway_push_unreadable_total",
  "slipway_push_later_version_total",
  "slipway_push_resume_messages",
  "slipway_push_cluster_instances",
  "slipway_push_cluster_users",
  "slipway_push_loop_lag_seconds",
  "slipway_log_offset",
  "slipway_log_oldest_offset",
  "slipway_log_lag_records",
  "slipway_log_lag_seconds",
  "slipway_log_starting_read_seconds",
  "slipway_process_max_fds",
  "slipway_nodejs_version_info",
];
const smallest = ["slipway_queue_ready", "slipway_process_start_time_seconds"];

const forgetAfterMs = 10 * 60_000;

/**
 * The metrics of all workers and of the supervisor as those of one process. A counter grows by what the processes have
 * added since the last reading, so that it does not fall when a worker is replaced.
 */
export class MetricsSum {
  readonly #clock: Clock;
  readonly #last = new Map<string, { values: Map<string, number>; atMs: number }>();
  readonly #totals = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async textOf(
    processes: ProcessMetrics[],
    own: Record<string, number>,
  ): Promise<Calls["metrics"]["result"]> {
    const nowMs = this.#clock.now();
    const byName = Map.groupBy(
      processes.flatMap(({ boot, metrics }) => metrics.map((metric) => ({ boot, metric }))),
      ({ metric }) => metric.name,
    );
    const summed: ProcessMetric[] = [];
    for (const [name, group] of byName) {
      const { metric } = group[0] as (typeof group)[number];
      const values = this.#sumOf(name, group, nowMs);
      const given = own[name];
      summed.push({
        ...metric,
        values: given === undefined ? values : [{ value: given, labels: {} }],
        aggregator: "first",
      });
    }
    for (const [boot, { atMs }] of this.#last) if (nowMs - atMs > forgetAfterMs) this.#last.delete(boot);
    const registry = AggregatorRegistry.aggregate([summed]);
    return { text: await registry.metrics(), contentType: registry.contentType };
  }

  #sumOf(name: string, group: { boot: string; metric: ProcessMetric }[], nowMs: number): Value[] {
    const rule = ruleOf(name);
    const found = new Map<string, Value>();
    const isGauge = String(group[0]?.metric.type) === "gauge";
    for (const { boot, metric } of group) {
      for (const value of metric.values) {
        const key = keyOf(name, value);
        const amount = isGauge ? value.value : this.#added(boot, key, value.value, nowMs);
        const known = found.get(key);
        if (known) known.value = combine(rule, known.value, amount);
        else found.set(key, { ...value, value: amount });
      }
    }
    if (isGauge) return [...found.values()];
    for (const [key, value] of found) {
      value.value += this.#totals.get(key) ?? 0;
      this.#totals.set(key, value.value);
    }
    return [...found.values()];
  }

  #added(boot: string, key: string, value: number, nowMs: number): number {
    const last = this.#last.get(boot) ?? { values: new Map(), atMs: nowMs };
    this.#last.set(boot, last);
    last.atMs = nowMs;
    const before = last.values.get(key) ?? 0;
    last.values.set(key, value);
    return Math.max(0, value - before);
  }
}

function ruleOf(name: string): Rule {
  if (smallest.includes(name)) return "min";
  return sameOnAllWorkers.includes(name) || name.includes("eventloop_lag") ? "max" : "sum";
}

function combine(rule: Rule, left: number, right: number): number {
  if (rule === "sum") return left + right;
  return rule === "max" ? Math.max(left, right) : Math.min(left, right);
}

function keyOf(name: string, { metricName, labels }: Value): string {
  const parts = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return `${metricName ?? name}|${parts.sort().join("|")}`;
}
