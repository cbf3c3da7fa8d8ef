/** Makes the console and the manual for the cache of `slipway start`, for images that are read-only later. */
import { join } from "node:path";
import { loadBundle } from "../src/http/asset-bundle.ts";
import { consoleBundle } from "../src/http/console-bundle.ts";
import { manualBundle } from "../src/http/manual/manual-bundle.ts";

for (const kind of [consoleBundle, manualBundle]) {
  const assets = await loadBundle(kind, join(import.meta.dir, ".."));
  console.log(`${kind.name}: ${assets.length} files`);
}
