import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/clock.ts";
import { buildLogStream } from "../../src/runner/log/log-stream.ts";
import { buildMasker } from "../../src/runner/log/masker.ts";
import { runProcess } from "../../src/runner/process/process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test.each(["", "y", "a line of usual length that a build tool repeats for ever"])(
  "a script that prints %j without end leaves the runner time for its other tasks",
  async (line) => {
    const folder = temporaryFolder("endless");
    const stop = join(folder, "stop");
    const log = buildLogStream({
      ...{
        clock: systemClock,
        from: 0,
        masker: buildMasker(["tok-123456789"]),
        maxBytes: 1_000_000,
        usedBytes: 0,
      },
      send: async (from, lines) => from + lines.length,
    });
    const output = log.stepOutput("build");
    // As a lease that is renewed: if no timer fires, the script never ends.
    let renewals = 0;
    const renewing = setInterval(() => {
      renewals += 1;
      if (renewals === 5) writeFileSync(stop, "");
    }, 20);
    try {
      const script = `yes '${line}' & while [ ! -e ${stop} ]; do sleep 0.1; done; kill $!`;
      const ended = await runProcess({
        command: ["sh", "-c", script],
        cwd: folder,
        env: { PATH: process.env.PATH ?? "" },
        onOutput: output.write,
        stop: new AbortController().signal,
        timeoutMs: 15_000,
        killAt: (termedAt) => termedAt + 1000,
        watch() {},
      });
      output.end();
      await log.flushed();
      expect(ended.end).toBe("exited");
      expect(existsSync(stop)).toBe(true);
    } finally {
      clearInterval(renewing);
    }
  },
);
