/** A span as W3C Trace Context names it: its trace, its own id, and whether the trace is recorded. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  isSampled: boolean;
}

const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const sampledFlag = 1;
const onlyZeros = /^0+$/;

/** Null: no valid `traceparent`. A later version of the format may have more fields. */
export function readTraceparent(text: string | null | undefined): TraceContext | null {
  const [, version = "", traceId = "", spanId = "", flags = "", more] = traceparent.exec(text ?? "") ?? [];
  if (version === "" || version === "ff" || (version === "00" && more !== undefined)) return null;
  if (onlyZeros.test(traceId) || onlyZeros.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & sampledFlag) !== 0 };
}

export function traceparentOf({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

export function randomHex(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
}

/** A span whose id every process can compute from its parent and a name, so that it need not be stored. */
export function derivedContext(parent: TraceContext, name: string): TraceContext {
  const text = `${parent.traceId} ${parent.spanId} ${name}`;
  const spanId = new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 16);
  return { ...parent, spanId };
}

/** The fields of a log line that belongs to a span; none without a trace. */
export function traceFields(text: string | null | undefined): { trace_id?: string; span_id?: string } {
  const context = text ? readTraceparent(text) : null;
  return context === null ? {} : { trace_id: context.traceId, span_id: context.spanId };
}
