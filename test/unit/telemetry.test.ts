import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import pino from "pino";
import { loadConfig, printConfig } from "../../src/config/config-load.ts";
import { buildMetrics } from "../../src/metrics.ts";
import { buildOtlpTelemetry } from "../../src/telemetry/otlp-telemetry.ts";
import { readTraceparent, traceparentOf } from "../../src/telemetry/trace-context.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { startCollector } from "../support/otlp-collector.ts";

const [traceId, spanId] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];

describe("traceparent", () => {
  test.each([
    [`00-${traceId}-${spanId}-01`, true],
    [`00-${traceId}-${spanId}-00`, false],
    [`00-${traceId}-${spanId}-03`, true],
    // A later version may have more fields.
    [`01-${traceId}-${spanId}-01-more`, true],
  ])("%s is read", (text, isSampled) => {
    expect(readTraceparent(text)).toEqual({ traceId, spanId, isSampled });
  });

  test.each([
    null,
    "",
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-01-more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${"0".repeat(32)}-${spanId}-01`,
    `00-${traceId}-${"0".repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
  ])("%p is refused", (text) => {
    expect(readTraceparent(text)).toBeNull();
  });
});

describe("spans", () => {
  const parent = traceparentOf({ traceId, spanId, isSampled: true });
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  function telemetryTo(endpoint: string, change: { sampleRatio?: number; maxWaiting?: number } = {}) {
    const metrics = buildMetrics();
    const lines: string[] = [];
    const telemetry = buildOtlpTelemetry({
      endpoint,
      headers: {},
      serviceName: "slipway",
      sampleRatio: change.sampleRatio ?? 1,
      process: {},
      metrics,
      log: pino({}, { write: (line: string) => void lines.push(line) }),
      limits: { delayMs: 10, timeoutMs: 300, maxWaiting: change.maxWaiting ?? 100 },
    });
    stops.push(() => telemetry.close());
    const counted = async (result: string) => {
      const { values } = (await metrics.getSingleMetric("slipway_telemetry_spans_total")?.get()) ?? {
        values: [],
      };
      return values.find(({ labels }) => labels.result === result)?.value;
    };
    return { telemetry, counted, lines };
  }

  function collector() {
    const started = startCollector();
    stops.push(started.stop);
    return started;
  }

  test("continue the trace of their parent", async () => {
    const { url, spans } = collector();
    const { telemetry } = telemetryTo(`${url}/`);
    telemetry
      .start(`00-${traceId}-${spanId}-01`, "publish", "producer")
      ?.end({ attributes: { a: 1, b: "two" } });
    await eventually("the span arrives", () => spans.length === 1);
    expect(spans).toMatchObject([
      { traceId, parentSpanId: spanId, name: "publish", kind: "producer", attributes: { a: 1, b: "two" } },
    ]);
  });

  test("have texts of a bounded length", async () => {
    const { url, spans } = collector();
    const { telemetry } = telemetryTo(url);
    const long = "x".repeat(1_000_000);
    telemetry.start(parent, "publish", "producer")?.end({ attributes: { a: long }, fault: long });
    await eventually("the span arrives", () => spans.length === 1);
    expect([String(spans[0]?.attributes.a).length, spans[0]?.fault?.length]).toEqual([1001, 1001]);
  });

  test("are not recorded for a trace that is not sampled", async () => {
    const { url, spans } = collector();
    const { telemetry, counted } = telemetryTo(url, { sampleRatio: 0 });
    const root = telemetry.newTrace();
    expect(readTraceparent(root)?.isSampled).toBe(false);
    const unsampled = telemetry.start(root, "decision", "internal");
    expect(readTraceparent(unsampled?.traceparent)?.traceId).toBe(readTraceparent(root)?.traceId as string);
    unsampled?.end();
    telemetry.start(`00-${traceId}-${spanId}-00`, "publish", "producer")?.end();
    await telemetry.close();
    expect([spans.length, await counted("exported")]).toEqual([0, 0]);
  });

  test("that the collector does not take in time are counted and not kept", async () => {
    const { telemetry, counted, lines } = telemetryTo(`http://127.0.0.1:${freePort()}`);
    for (let each = 0; each < 20; each++) telemetry.start(parent, "publish", "producer")?.end();
    await eventually("they are counted", async () => (await counted("failed")) === 20);
    expect(lines.filter((line) => line.includes("the collector does not accept spans"))).toHaveLength(1);
  });

  test("beyond the limit are dropped and counted", async () => {
    const silent = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Promise<Response>(() => {}),
    });
    stops.push(() => silent.stop(true));
    const { telemetry, counted } = telemetryTo(silent.url.origin, { maxWaiting: 10 });
    for (let each = 0; each < 25; each++) telemetry.start(parent, "publish", "producer")?.end();
    expect(await counted("dropped")).toBe(15);
    await eventually("the others are given up", async () => (await counted("failed")) === 10);
    telemetry.start(parent, "publish", "producer")?.end();
    expect(await counted("dropped")).toBe(15);
  });
});

describe("settings", () => {
  const load = (env: Record<string, string>) => loadConfig({ env, flags: {} });

  test("the standard variables count where ours say nothing", async () => {
    const standard = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20abc,x-team=shop",
      OTEL_SERVICE_NAME: "deploys",
    };
    const config = await load(standard);
    expect(config["telemetry.otlp-endpoint"]).toBe("http://collector:4318");
    expect(config["telemetry.otlp-headers"]).toEqual(["authorization=Bearer%20abc", "x-team=shop"]);
    expect(config["telemetry.service-name"]).toBe("deploys");
    expect(printConfig(config)).not.toContain("abc");
    const own = await load({ ...standard, SLIPWAY_TELEMETRY_OTLP_ENDPOINT: "http://own:4318" });
    expect(own["telemetry.otlp-endpoint"]).toBe("http://own:4318");
  });

  test("a standard variable that is meant for other programs does not stop the start", async () => {
    const config = await load({ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317" });
    expect(config["telemetry.otlp-endpoint"]).toBeUndefined();
  });

  test("a mistake in the headers is reported without the headers", async () => {
    const wrong = load({ SLIPWAY_TELEMETRY_OTLP_HEADERS: "secret-without-a-name" });
    expect(wrong).rejects.toThrow("must be headers as name=value");
    expect(wrong).rejects.not.toThrow("secret-without-a-name");
  });
});

test("nothing of the exporter is loaded while telemetry is off", () => {
  const loadedWith = (settings: string) => {
    const program = `
      import pino from "pino";
      const { buildApp } = await import("./src/app.ts");
      const { configOf } = await import("./src/config/config-load.ts");
      const own = { "server.listen": { host: "127.0.0.1", port: 0 }, "push.verify-uri": "http://127.0.0.1:1", "push.log-file": false };
      const app = await buildApp(configOf({ ...own, ...${settings} }), "push", pino({ level: "silent" }));
      console.log(Object.keys(require.cache).filter((file) => /@opentelemetry.(sdk|exporter|otlp|resources)/.test(file)).length);
      process.exit(0);
    `;
    const root = join(import.meta.dir, "../..");
    const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", program], { cwd: root });
    if (stdout.length === 0) throw new Error(stderr.toString());
    return Number(stdout.toString());
  };
  expect(loadedWith("{}")).toBe(0);
  expect(loadedWith('{ "telemetry.otlp-endpoint": "http://127.0.0.1:1" }')).toBeGreaterThan(0);
});
