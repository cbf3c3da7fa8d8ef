import { secret, setting } from "./declare-setting.ts";
import { decimal, type Kind, listOf, text, url } from "./setting-kinds.ts";

/** Headers as `OTEL_EXPORTER_OTLP_HEADERS` writes them. A mistake is not quoted, because headers are secrets. */
const headers: Kind<string[]> = {
  name: "list of name=value",
  read(raw) {
    const list = listOf(text).read(raw);
    if ("value" in list && list.value.every(isHeader)) return list;
    return { wrong: "must be headers as name=value, with % in a value as %25" };
  },
};

function isHeader(pair: string): boolean {
  if (!/^[\w!#$&'*+.^`|~-]+\s*=\s*\S/.test(pair)) return false;
  try {
    return !/[\r\n]/.test(decodeURIComponent(pair));
  } catch {
    return false;
  }
}

/** Where spans are sent. */
export const telemetrySettings = {
  "telemetry.otlp-endpoint": setting(
    url("http", "https"),
    undefined,
    "Collector of traces: OTLP over HTTP, without `/v1/traces`. Unset: `OTEL_EXPORTER_OTLP_ENDPOINT`; without both, telemetry is off.",
  ),
  "telemetry.otlp-headers": secret(
    headers,
    [],
    "Headers for the collector, such as `authorization=Bearer%20…`; values are percent-encoded. Unset: `OTEL_EXPORTER_OTLP_HEADERS`.",
  ),
  "telemetry.service-name": setting(
    text,
    "slipway",
    "`service.name` of the spans. Unset: `OTEL_SERVICE_NAME`.",
  ),
  "telemetry.sample-ratio": setting(
    decimal(0, 1),
    1,
    "Share of the traces that begin here and are recorded. For a publish with a `traceparent`, its caller has decided.",
  ),
};

/** Variables of every program with OpenTelemetry. They count if nothing else states the setting. */
export const standardVariables: Readonly<Partial<Record<string, string>>> = {
  "telemetry.otlp-endpoint": "OTEL_EXPORTER_OTLP_ENDPOINT",
  "telemetry.otlp-headers": "OTEL_EXPORTER_OTLP_HEADERS",
  "telemetry.service-name": "OTEL_SERVICE_NAME",
} satisfies Partial<Record<keyof typeof telemetrySettings, string>>;
