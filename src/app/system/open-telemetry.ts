import { hostname } from "node:os";
import type { Config } from "../../config/config.ts";
import type { Logger } from "../../logger.ts";
import type { Metrics } from "../../metrics.ts";
import { silentTelemetry, type Telemetry } from "../../telemetry/telemetry.ts";
import { version } from "../../version.ts";
import type { AppRole } from "../app-context.ts";

/** Sends spans to the collector of the settings. Without one, nothing is loaded and nothing is recorded. */
export async function openTelemetry(
  config: Config,
  role: AppRole,
  parts: { metrics: Metrics; log: Logger },
): Promise<Telemetry> {
  const endpoint = config["telemetry.otlp-endpoint"];
  if (endpoint === undefined) return silentTelemetry;
  const { buildOtlpTelemetry } = await import("../../telemetry/otlp-telemetry.ts");
  return buildOtlpTelemetry({
    endpoint,
    headers: headersOf(config["telemetry.otlp-headers"]),
    serviceName: config["telemetry.service-name"],
    sampleRatio: config["telemetry.sample-ratio"],
    process: {
      "service.version": version,
      "service.instance.id": `${hostname()}:${process.pid}`,
      "slipway.role": role,
    },
    ...parts,
  });
}

/** `authorization=Bearer%20abc` → `{ authorization: "Bearer abc" }` */
function headersOf(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())];
    }),
  );
}
