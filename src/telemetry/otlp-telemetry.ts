import { SpanKind as OtelKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace";
import { Counter } from "prom-client";
import { pause } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { Metrics } from "../metrics.ts";
import type { EndedSpan, SpanAttributes, SpanKind, Telemetry } from "./telemetry.ts";
import { randomHex, readTraceparent, type TraceContext, traceparentOf } from "./trace-context.ts";

export interface OtlpOptions {
  /** Address of the collector, without `/v1/traces`. */
  endpoint: string;
  headers: Record<string, string>;
  serviceName: string;
  /** Share of the traces that begin here and are recorded. */
  sampleRatio: number;
  /** Attributes of the process: version and instance. */
  process: Record<string, string>;
  metrics: Metrics;
  log: Logger;
  limits?: Partial<OtlpLimits>;
}

interface OtlpLimits {
  /** Spans that wait to be sent; further ones are dropped. */
  maxWaiting: number;
  /** A collector that has not answered by then gets no more time. */
  timeoutMs: number;
  /** Spans are sent together after this time. */
  delayMs: number;
}

const defaultLimits: OtlpLimits = { maxWaiting: 4096, timeoutMs: 5_000, delayMs: 1_000 };
const maxBatch = 512;
/** Refs and reasons may quote a sender, who can write a megabyte. */
const maxTextLength = 1_000;
const closeWithinMs = 3_000;
/** A larger difference means that the clock was set. */
const maxClockDriftMs = 2;

const kinds: Record<SpanKind, OtelKind> = {
  internal: OtelKind.INTERNAL,
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
  producer: OtelKind.PRODUCER,
  consumer: OtelKind.CONSUMER,
};

/** Sends spans to a collector in the background, as OTLP over HTTP with JSON. Imported only if telemetry is on. */
export function buildOtlpTelemetry(options: OtlpOptions): Telemetry {
  const limits = { ...defaultLimits, ...options.limits };
  const { log, metrics, sampleRatio } = options;
  const spans = new Counter({
    name: "slipway_telemetry_spans_total",
    help: "Spans by result: exported, refused by the collector or not delivered (failed), and dropped because too many waited.",
    labelNames: ["result"],
    registers: [metrics],
  });
  for (const result of ["exported", "failed", "dropped"]) spans.inc({ result }, 0);
  const exporter = new OTLPTraceExporter({
    url: `${options.endpoint.replace(/\/+$/, "")}/v1/traces`,
    headers: options.headers,
    timeoutMillis: limits.timeoutMs,
  });
  const resource = resourceFromAttributes({ ...options.process, "service.name": options.serviceName });
  let waiting = 0;
  let isFailing = false;

  function exported(count: number, error: Error | undefined, isDone: boolean): void {
    waiting -= count;
    spans.inc({ result: isDone ? "exported" : "failed" }, count);
    if (isDone === !isFailing) return;
    isFailing = !isDone;
    if (isDone) log.info("the collector accepts spans again");
    else log.warn({ error: error?.message }, "the collector does not accept spans; they are not kept");
  }

  const counting: SpanExporter = {
    export(batch, onResult) {
      exporter.export(batch, (result) => {
        exported(batch.length, result.error, result.code === 0);
        // Reported here already; the processor would log it in its own format.
        onResult({ code: 0 });
      });
    },
    shutdown: () => exporter.shutdown(),
  };
  const processor = new BatchSpanProcessor({
    exporter: counting,
    maxQueueSize: limits.maxWaiting,
    maxExportBatchSize: Math.min(maxBatch, limits.maxWaiting),
    scheduledDelayMillis: limits.delayMs,
    exportTimeoutMillis: 2 * limits.timeoutMs,
  });

  function record(span: EndedSpan): void {
    if (!span.context.isSampled) return;
    if (waiting >= limits.maxWaiting) return void spans.inc({ result: "dropped" });
    waiting++;
    processor.onEnd(readableSpan(span, resource));
  }

  return {
    isOn: true,
    newTrace: () =>
      traceparentOf({
        traceId: randomHex(16),
        spanId: randomHex(8),
        isSampled: sampleRatio >= 1 || Math.random() < sampleRatio,
      }),
    start(parent, name, kind) {
      const above = readTraceparent(parent);
      if (above === null) return null;
      const context = { ...above, spanId: randomHex(8) };
      const startMs = preciseNow();
      return {
        traceparent: traceparentOf(context),
        end: (how) =>
          record({ name, kind, context, parentSpanId: above.spanId, startMs, endMs: preciseNow(), ...how }),
      };
    },
    record,
    async close() {
      const timeUp = new AbortController();
      const closing = processor.shutdown().catch(() => {});
      await Promise.race([closing, pause(closeWithinMs, timeUp.signal)]);
      timeUp.abort();
    },
  };
}

let originMs = performance.timeOrigin;

/** Wall clock with fractions of a millisecond, so that short spans have a length and an order. */
function preciseNow(): number {
  const wallMs = Date.now();
  const nowMs = originMs + performance.now();
  if (Math.abs(wallMs - nowMs) <= maxClockDriftMs) return nowMs;
  originMs = wallMs - performance.now();
  return wallMs;
}

function readableSpan(span: EndedSpan, resource: ReadableSpan["resource"]): ReadableSpan {
  const { name, kind, context, parentSpanId, startMs, attributes = {}, fault } = span;
  // The times of a task come from the database, whose clock may have been set back.
  const endMs = Math.max(startMs, span.endMs);
  return {
    name,
    kind: kinds[kind],
    spanContext: () => spanContextOf(context),
    ...(parentSpanId === undefined
      ? {}
      : { parentSpanContext: spanContextOf({ ...context, spanId: parentSpanId }) }),
    startTime: timeOf(startMs),
    endTime: timeOf(endMs),
    duration: timeOf(endMs - startMs),
    status:
      fault === undefined
        ? { code: SpanStatusCode.UNSET }
        : { code: SpanStatusCode.ERROR, message: bounded(fault) },
    attributes: boundedAttributes(attributes),
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: { name: "slipway" },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function boundedAttributes(attributes: SpanAttributes): SpanAttributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === "string" ? bounded(value) : value,
    ]),
  );
}

function bounded(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength)}…`.toWellFormed();
}

function spanContextOf({ traceId, spanId }: TraceContext) {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
}

/** Seconds and nanoseconds. */
function timeOf(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
