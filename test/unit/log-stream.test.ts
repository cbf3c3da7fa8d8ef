import { describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { buildLogStream } from "../../src/runner/log/log-stream.ts";
import type { WireLine } from "../../src/runner/protocol.ts";

async function sentOf(write: (stream: ReturnType<typeof buildLogStream>) => void): Promise<WireLine[]> {
  const sent: WireLine[] = [];
  const stream = buildLogStream({
    clock: manualClock(),
    from: 0,
    secrets: [],
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
      const output = stream.stageOutput("build");
      output.write(Buffer.from("\n".repeat(9000)));
      output.end();
    });
    expect(sent.length).toBeLessThan(400);
    expect(sent.at(-1)?.text).toStartWith("[log cut: it reached 10000 bytes");
  });

  test("takes what the runner says beyond its limit, but not all that a Git host makes it say", async () => {
    const sent = await sentOf((stream) => {
      stream.stageOutput("build").write(Buffer.from("x".repeat(9999).concat("\n").repeat(3)));
      stream.say("checkout", "remote: counting\n".repeat(100_000));
    });
    const said = sent.filter(({ stage }) => stage === "checkout");
    expect(said.length).toBeGreaterThan(1000);
    expect(said.length).toBeLessThan(12_000);
  });
});
