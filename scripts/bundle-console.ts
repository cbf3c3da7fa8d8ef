/** Bundles the console into the cache of `slipway start`, for images that are read-only later. */
import { join } from "node:path";
import { loadConsole } from "../src/http/console-bundle.ts";

const assets = await loadConsole(join(import.meta.dir, ".."));
console.log(`the console: ${assets.length} files`);
