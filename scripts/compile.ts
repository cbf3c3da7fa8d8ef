/**
 * Makes the whole product one executable file, console included:
 *
 *   npm run compile                               dist/slipway, for this machine
 *   npm run compile -- --target bun-linux-arm64   for another; the names are those of `bun build --target`
 *   npm run compile -- --out elsewhere            into another folder
 */
import { statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bundleConsole, bundleName, writeBundle } from "../src/http/console-bundle.ts";
import { leanMetrics, selfContainedKafka } from "./bundle-plugins.ts";

const root = join(import.meta.dir, "..");
const { values } = parseArgs({ options: { target: { type: "string" }, out: { type: "string" } } });
const target = values.target as Bun.Build.CompileTarget | undefined;
const dist = resolve(values.out ?? join(root, "dist"));

const executable = join(dist, target?.includes("windows") ? "slipway.exe" : "slipway");
await mkdir(dist, { recursive: true });
const bundle = join(dist, bundleName);
await writeBundle(bundle, await bundleConsole(root));
await Bun.build({
  // A thread is started by the path of its program below `src`, so each program must be an entry point.
  entrypoints: [join(root, "src/main.ts"), join(root, "src/app/store-thread-program.ts"), bundle],
  root: join(root, "src"),
  // Starts in a third of the time, for 11 MiB more. Bytecode is of this machine's kind.
  bytecode: target === undefined,
  compile: { outfile: executable, ...(target ? { target } : {}) },
  define: { builtStoreThread: JSON.stringify("./app/store-thread-program.ts") },
  minify: true,
  naming: { asset: "[name].[ext]" },
  plugins: [selfContainedKafka, leanMetrics],
});
console.log(`${executable}: ${(statSync(executable).size / 1024 ** 2).toFixed(0)} MiB`);
