/**
 * Loaded into the server under soak by `--preload`: writes what only the process itself can count, a JSON line every five
 * seconds, to the file that SOAK_PROBE_FILE names.
 */
import { heapStats } from "bun:jsc";
import { appendFileSync } from "node:fs";

const file = process.env.SOAK_PROBE_FILE;
const everyMs = 5_000;

if (file)
  setInterval(() => {
    const { heapSize, objectTypeCounts } = heapStats();
    appendFileSync(
      file,
      `${JSON.stringify({ heapBytes: heapSize, timers: objectTypeCounts.Timeout ?? 0 })}\n`,
    );
  }, everyMs).unref();
