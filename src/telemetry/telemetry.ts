import type { TraceContext } from "./trace-context.ts";

export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";
export type SpanAttributes = Record<string, string | number | boolean>;

/** How a span ended. */
export interface SpanEnd {
  attributes?: SpanAttributes;
  /** Why it failed; absent: it did not. */
  fault?: string;
}

/** A span whose times are known. */
export interface EndedSpan extends SpanEnd {
  name: string;
  kind: SpanKind;
  context: TraceContext;
  /** Absent: the first span of its trace. */
  parentSpanId?: string;
  startMs: number;
  endMs: number;
}

/** A span that is measured. */
export interface Span {
  /** For what happens below it, also in other processes. */
  readonly traceparent: string;
  end(how?: SpanEnd): void;
}

/** Records spans. Nothing here waits or throws: an unreachable collector costs spans, never work. */
export interface Telemetry {
  readonly isOn: boolean;
  /** The `traceparent` of the first span of a new trace, which the caller records when it has ended. Null: telemetry is off. */
  newTrace(): string | null;
  /** Begins a span below another one. Null: telemetry is off, or the parent is no valid `traceparent`. */
  start(parent: string | null | undefined, name: string, kind: SpanKind): Span | null;
  record(span: EndedSpan): void;
  /** Sends the spans that wait, for a few seconds at most. */
  close(): Promise<void>;
}

export const silentTelemetry: Telemetry = {
  isOn: false,
  newTrace: () => null,
  start: () => null,
  record: () => {},
  close: async () => {},
};
