import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { BunPlugin } from "bun";

const root = join(import.meta.dir, "..");

/** The Kafka client reads WebAssembly from a file next to it; this build of the package contains the bytes. */
export const selfContainedKafka: BunPlugin = {
  name: "self-contained-kafka",
  setup(build) {
    const path = join(root, "node_modules/@platformatic/wasm-utils/dist/bundled.js");
    build.onResolve({ filter: /^@platformatic\/wasm-utils$/ }, () => ({ path }));
  },
};

/** A file of a split program stays a file of its own. */
export const separateFiles: BunPlugin = {
  name: "separate-files",
  setup(build) {
    build.onResolve({ filter: /^\.\.?\// }, ({ path, importer }) =>
      importer === "" ? undefined : { path, external: true },
    );
  },
};

/** The sources are below `root`, whatever file of the program their modules end up in. */
export function modulePaths(root: string): Record<string, string> {
  return {
    "import.meta.dir": JSON.stringify(join(root, "src")),
    "import.meta.url": JSON.stringify(pathToFileURL(join(root, "src/main.js")).href),
  };
}

/**
 * prom-client loads an HTTP client for pushing metrics, and OpenTelemetry for exemplars of one metric. Slipway uses neither,
 * and together they take a third of the time that a gateway needs to start.
 */
export const leanMetrics: BunPlugin = {
  name: "lean-metrics",
  setup(build) {
    const importer = /node_modules\/prom-client\//;
    const namespace = "lean-metrics";
    build.onResolve({ filter: /^(\.\/lib\/pushgateway|@opentelemetry\/api)$/ }, ({ path, importer: from }) =>
      importer.test(from) ? { path, namespace } : undefined,
    );
    build.onLoad({ filter: /./, namespace }, ({ path }) => ({
      contents: standIns[path] ?? "",
      loader: "js",
    }));
  },
};

/** zod contains its messages in some fifty languages: half of its size, and Slipway has its own texts. */
export const leanSchemas: BunPlugin = {
  name: "lean-schemas",
  setup(build) {
    const namespace = "lean-schemas";
    build.onResolve({ filter: /\/locales\/index\.js$/ }, ({ path, importer }) =>
      /node_modules\/zod\//.test(importer) ? { path, namespace } : undefined,
    );
    build.onLoad({ filter: /./, namespace }, () => ({ contents: "export {};", loader: "js" }));
  },
};

const standIns: Record<string, string> = {
  "./lib/pushgateway": "module.exports = class Pushgateway {};",
  "@opentelemetry/api": "",
};
