import { eventually } from "./eventually.ts";

type AttributeValue = string | number | boolean;

/** A span as a collector received it. */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  /** Empty: the first span of its trace. */
  parentSpanId: string;
  name: string;
  kind: string;
  startMs: number;
  endMs: number;
  attributes: Record<string, AttributeValue>;
  /** The text of a failed span; null: it did not fail. */
  fault: string | null;
  /** `service.name` of the process that recorded it. */
  service: string;
}

interface OtlpAttribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };
}

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: OtlpAttribute[];
  status: { code: number; message?: string };
}

interface OtlpBody {
  resourceSpans: { resource: { attributes: OtlpAttribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

const kinds = ["", "internal", "server", "client", "producer", "consumer"];
const errorCode = 2;

/** A collector of OTLP over HTTP with JSON. */
export function startCollector() {
  const spans: CollectedSpan[] = [];
  const headers: Headers[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      if (new URL(request.url).pathname !== "/v1/traces") return new Response(null, { status: 404 });
      headers.push(request.headers);
      spans.push(...spansIn((await request.json()) as OtlpBody));
      return Response.json({ partialSuccess: {} });
    },
  });
  const ofTrace = (traceId: string) => spans.filter((span) => span.traceId === traceId);
  /** Waits until a trace has these spans, each as often as it is listed. */
  async function wait(traceId: string, wanted: readonly string[]): Promise<void> {
    const missing = () => without(wanted, treeOf(ofTrace(traceId)));
    const isComplete = () => missing().length === 0;
    await eventually(`trace ${traceId} is complete`, isComplete).catch((error: unknown) => {
      throw new Error(`${String(error)} Missing: ${missing().join(", ")}`);
    });
  }
  return {
    url: server.url.origin,
    spans,
    /** The headers of each request. */
    headers,
    ofTrace,
    wait,
    /** The trace of which one span has this name and these attributes, when it has at least the spans of `wanted`. */
    async trace(name: string, attributes: Record<string, AttributeValue>, wanted: readonly string[]) {
      const find = () =>
        spans.find(
          (span) =>
            span.name === name &&
            Object.entries(attributes).every(([key, value]) => span.attributes[key] === value),
        );
      await eventually(`there is a span ${name} ${JSON.stringify(attributes)}`, () => find() !== undefined);
      const traceId = find()?.traceId ?? "";
      await wait(traceId, wanted);
      return ofTrace(traceId);
    },
    stop: () => server.stop(true),
  };
}

function spansIn({ resourceSpans }: OtlpBody): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(attributesOf(resource.attributes)["service.name"]);
    return scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? "",
        name: span.name,
        kind: kinds[span.kind] ?? "",
        startMs: Number(span.startTimeUnixNano) / 1e6,
        endMs: Number(span.endTimeUnixNano) / 1e6,
        attributes: attributesOf(span.attributes),
        fault: span.status.code === errorCode ? (span.status.message ?? "") : null,
        service,
      })),
    );
  });
}

function attributesOf(attributes: OtlpAttribute[]): Record<string, AttributeValue> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const { stringValue, intValue, doubleValue, boolValue } = value;
      return [key, stringValue ?? boolValue ?? Number(intValue ?? doubleValue)];
    }),
  );
}

/** `all` without those that are in `some`, each as often as it is there. */
function without(all: readonly string[], some: readonly string[]): string[] {
  const left = [...some];
  return all.filter((each) => {
    const at = left.indexOf(each);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** The names of the spans from the first one down, sorted: `delivery > task > queue`. */
export function treeOf(spans: readonly CollectedSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const pathOf = (span: CollectedSpan): string => {
    const parent = byId.get(span.parentSpanId);
    if (parent) return `${pathOf(parent)} > ${span.name}`;
    return span.parentSpanId === "" ? span.name : `(elsewhere) > ${span.name}`;
  };
  return spans.map(pathOf).sort();
}
