import { Gauge, Histogram } from "prom-client";
import { type Metrics, metricGroup } from "../metrics.ts";
import type { Admission } from "./admission/admission.ts";
import type { Connections } from "./connection/connections.ts";
import type { ResumeRing } from "./fanout/resume-ring.ts";
import type { SendBuffers } from "./fanout/send-buffer.ts";
import type { PushCounters } from "./message/counters.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { Presence } from "./presence/presence.ts";

export interface PushMetricsParts {
  admission: Pick<Admission, "placesTaken" | "pending">;
  counters: PushCounters;
  connections: Connections;
  presence: Pick<Presence, "instanceCount" | "userCount">;
  ring: ResumeRing;
  sendBuffers: SendBuffers;
  streams: Pick<OpenStreams, "size">;
}

/** Read for each scrape. */
export function registerPushMetrics(registry: Metrics, parts: PushMetricsParts): void {
  const { admission, counters, connections, presence, ring, sendBuffers, streams } = parts;
  const registers = [registry];
  const { gauge, counter, labelledCounter } = metricGroup(registry, "slipway_push_");

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
  gauge("event_streams", "Open connections that are event streams.", () => streams.size);
  gauge("users", "Users with an open connection.", () => connections.users);
  gauge("channels", "Channels with a member.", () => connections.channels.size);
  gauge("places_taken", "Places under max-connections in use or reserved.", () => admission.placesTaken);
  gauge("verifications_pending", "Verifications that wait for an answer.", () => admission.pending);
  gauge(
    "buffered_bytes",
    "Unsent bytes of all connections at the last sweep.",
    () => sendBuffers.bufferedBytes,
  );
  gauge("lagging_connections", "Connections with unsent bytes at the last sweep.", () => sendBuffers.lagging);
  gauge("cluster_instances", "Known instances, including this one.", () => presence.instanceCount);
  gauge("cluster_users", "Users online on all instances.", () => presence.userCount());
  gauge("resume_messages", "Messages kept for clients that resume.", () => ring.size);
  gauge("resume_bytes", "Bytes of messages kept for clients that resume.", () => ring.bytes);
  gauge("loop_lag_seconds", "Largest delay of the event loop since the last reading.", () => {
    const seconds = counters.loopLagMs / 1000;
    counters.loopLagMs = 0;
    return seconds;
  });
  labelledCounter("admissions_total", "Connection attempts by result.", "result", () => counters.admissions);
  labelledCounter("closes_total", "Closed connections by close code.", "code", () => counters.closes);
  labelledCounter("messages_total", "Messages distributed, by target type.", "target_type", () =>
    Object.entries(counters.messages),
  );
  labelledCounter("client_messages_total", "Messages from clients, by result.", "result", () =>
    Object.entries(counters.clientMessages),
  );
  counter("deliveries_total", "Messages sent to connections.", () => counters.deliveries);
  counter("dropped_total", "Messages that the runtime dropped for a connection.", () => counters.dropped);
  counter("unreadable_total", "Records of the logs that are not valid messages.", () => counters.unreadable);
  counter(
    "later_version_total",
    "Records of the logs that an instance of a later version wrote and this one cannot read.",
    () => counters.later,
  );
  counter(
    "losses_total",
    "Times that messages for open connections may have been lost between the queue and this instance.",
    () => counters.losses,
  );
  counter("repeated_total", "Messages skipped as repeats.", () => counters.repeated);
}

/** The times of verifications, which the caller notes. */
export function verifySecondsIn(registry: Metrics): Histogram {
  const verifySeconds = new Histogram({
    name: "slipway_push_verify_seconds",
    help: "Time that verification of a code took.",
    registers: [registry],
    labelNames: ["result"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3],
  });
  // From 0 on, because a counter that appears with 1 has not increased for Prometheus.
  for (const result of ["verified", "rejected", "verify_unavailable"]) verifySeconds.zero({ result });
  return verifySeconds;
}
