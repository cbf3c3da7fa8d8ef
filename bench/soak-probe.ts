/**
 * Loaded into the server by `--preload`: every five seconds, appends figures that only the process itself can read to
 * SOAK_PROBE_FILE, as a line of JSON.
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
