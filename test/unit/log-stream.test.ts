import { describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { buildLogStream } from "../../src/runner/log/log-stream.ts";
import { buildMasker } from "../../src/runner/log/masker.ts";
import type { WireLine } from "../../src/runner/protocol.ts";

async function sentOf(write: (stream: ReturnType<typeof buildLogStream>) => void): Promise<WireLine[]> {
  const sent: WireLine[] = [];
  const stream = buildLogStream({
    clock: manualClock(),
    from: 0,
    masker: buildMasker([]),
    maxBytes: 10_000,
    usedBytes: 0,
    async send(from, lines) {
      sent.push(...lines);
      return from + lines.length;
    },
  });
  write(stream);
  await stream.flushed();
  return sent;
}

describe("the log of an attempt", () => {
  test("counts a line by more than its text", async () => {
    const sent = await sentOf((stream) => {
      const output = stream.stepOutput("build");
      output.write(Buffer.from("\n".repeat(9000)));
      output.end();
    });
    expect(sent.length).toBeLessThan(400);
    expect(sent.at(-1)?.text).toStartWith("[log cut: it reached 10000 bytes");
  });

  test("takes what the runner says beyond its limit, but not all that a Git host makes it say", async () => {
    const sent = await sentOf((stream) => {
      stream.stepOutput("build").write(Buffer.from("x".repeat(9999).concat("\n").repeat(3)));
      stream.writeLine("checkout", "remote: counting\n".repeat(100_000));
    });
    const said = sent.filter(({ stage }) => stage === "checkout");
    expect(said.length).toBeGreaterThan(1000);
    expect(said.length).toBeLessThan(12_000);
  });

  test("goes on at the index of a server whose database was restored from a backup", async () => {
    const stored: string[] = [];
    let calls = 0;
    const stream = buildLogStream({
      ...{ clock: manualClock(), from: 0, masker: buildMasker([]), maxBytes: 10_000, usedBytes: 0 },
      async send(from, lines) {
        // As in the real server: a gap is not stored, and lines that it has are not stored twice.
        if (from <= stored.length) stored.push(...lines.slice(stored.length - from).map(({ text }) => text));
        calls += 1;
        if (calls > 20) return null;
        return stored.length;
      },
    });
    stream.writeLine("build", "one");
    stream.writeLine("build", "two");
    await stream.flushed();
    stored.length = 1;
    stream.writeLine("build", "three");
    await stream.flushed();
    expect(stored).toEqual(["one", "three"]);
  });
});
