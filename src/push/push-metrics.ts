import { Counter, Gauge, Histogram } from "prom-client";
import type { Metrics } from "../metrics.ts";
import type { Connections } from "./connection/connections.ts";
import type { ResumeRing } from "./fanout/resume-ring.ts";
import type { SendBuffers } from "./fanout/send-buffer.ts";
import type { PushFigures } from "./message/figures.ts";

export interface PushMetricsParts {
  figures: PushFigures;
  connections: Connections;
  sendBuffers: SendBuffers;
  ring: ResumeRing;
  /** Null on one instance. */
  cluster: () => { nodeCount: number; userCount: number } | null;
  /** Places taken, waiting verifications included. */
  placesTaken: () => number;
  verificationsPending: () => number;
}

/** Answers the one metric that is observed, not read: how long verify-uri takes. */
export function registerPushMetrics(registry: Metrics, parts: PushMetricsParts): Histogram {
  const { figures, connections, sendBuffers, ring } = parts;
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name: `slipway_push_${name}`,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  const counter = (
    name: string,
    help: string,
    label: string | null,
    read: () => Iterable<[string, number]>,
  ) =>
    new Counter({
      name: `slipway_push_${name}`,
      help,
      registers,
      labelNames: label === null ? [] : [label],
      collect() {
        this.reset();
        for (const [value, count] of read()) {
          if (label === null) this.inc(count);
          else this.inc({ [label]: value }, count);
        }
      },
    });
  const one = (count: number): [string, number][] => [["", count]];

  new Gauge({
    name: "slipway_push_connections",
    help: "Open connections by kind.",
    registers,
    labelNames: ["kind"],
    collect() {
      this.set({ kind: "normal" }, connections.normal);
      this.set({ kind: "temporary" }, connections.temporary);
    },
  });
  gauge("users", "Users with an open connection.", () => connections.users);
  gauge("channels", "Channels with a member.", () => connections.channels.size);
  gauge("places_taken", "Places under max-connections in use or reserved.", parts.placesTaken);
  gauge("verifications_pending", "Verifications that wait for an answer.", parts.verificationsPending);
  gauge(
    "buffered_bytes",
    "Unsent bytes of all connections at the last sweep.",
    () => sendBuffers.bufferedBytes,
  );
  gauge("lagging_connections", "Connections with unsent bytes at the last sweep.", () => sendBuffers.lagging);
  gauge("cluster_instances", "Instances heard of, this one included.", () => parts.cluster()?.nodeCount ?? 1);
  gauge(
    "cluster_users",
    "Users online on all instances.",
    () => parts.cluster()?.userCount ?? connections.onlineUsers().length,
  );
  gauge("resume_messages", "Messages kept for clients that resume.", () => ring.size);
  gauge("resume_bytes", "Bytes of messages kept for clients that resume.", () => ring.bytes);
  gauge("loop_lag_seconds", "Largest delay of the event loop since the last reading.", () => {
    const seconds = figures.loopLagMs / 1000;
    figures.loopLagMs = 0;
    return seconds;
  });
  counter("admissions_total", "Connection attempts by result.", "result", () => figures.admissions);
  counter("closes_total", "Closed connections by close code.", "code", () => figures.closes);
  counter("messages_total", "Messages distributed, by target type.", "target_type", () =>
    Object.entries(figures.messages),
  );
  counter("client_messages_total", "Messages from clients, by what became of them.", "result", () =>
    Object.entries(figures.clientMessages),
  );
  counter("deliveries_total", "Messages handed to connections.", null, () => one(figures.deliveries));
  counter("dropped_total", "Messages that the runtime dropped for somebody.", null, () =>
    one(figures.dropped),
  );
  counter("unreadable_total", "Messages on the bus that were no messages.", null, () =>
    one(figures.unreadable),
  );
  counter(
    "missing_total",
    "Messages of an instance, by its running numbers, that never arrived here.",
    null,
    () => one(figures.missing),
  );
  counter(
    "losses_total",
    "Times that messages for open connections may have been lost between the queue and this instance.",
    null,
    () => one(figures.losses),
  );
  counter("repeated_total", "Messages skipped as repeats.", null, () => one(figures.repeated));
  return new Histogram({
    name: "slipway_push_verify_seconds",
    help: "Time that verification of a code took.",
    registers,
    labelNames: ["result"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3],
  });
}
