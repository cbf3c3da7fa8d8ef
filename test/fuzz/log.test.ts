import { expect, test } from "bun:test";
import fc from "fast-check";
import { plainText } from "../../console/ansi.ts";
import { manualClock } from "../../src/clock.ts";
import { logLineSize } from "../../src/log-line-size.ts";
import { lineMaxLength } from "../../src/runner/log/line-splitter.ts";
import { buildLogStream } from "../../src/runner/log/log-stream.ts";
import { buildMasker } from "../../src/runner/log/masker.ts";
import { fuzz, mutated } from "../support/fuzz.ts";
import { longTest } from "../support/long-test.ts";

longTest(600_000);

const secret = "s3cr3t-value";
const logMaxBytes = 20_000;
/** The line that reports that the log was truncated. */
const noticeMaxBytes = 200;

const samples = [
  "npm install\nadded 149 packages in 12s\n",
  `token is ${secret}, again ${secret}${secret}\r\n`,
  "\u001b[1;31merror\u001b[0m: \u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\\n",
  "10%\r50%\r100%\n",
  "x".repeat(40_000),
  "\n".repeat(700),
  "日本語 العربية \u202egnp.exe\n",
].map((text) => Buffer.from(text));

const output = fc.record({
  bytes: fc.oneof(
    mutated(samples),
    fc.uint8Array({ maxLength: 3_000 }).map((bytes) => Buffer.from(bytes)),
  ),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
});

async function linesOf(bytes: Buffer, cuts: number[]): Promise<string[]> {
  const lines: string[] = [];
  const stream = buildLogStream({
    clock: manualClock(),
    from: 0,
    masker: buildMasker([secret]),
    maxBytes: logMaxBytes,
    usedBytes: 0,
    async send(from, sent) {
      lines.push(...sent.map(({ text }) => text));
      return from + sent.length;
    },
  });
  const stage = stream.stepOutput("build");
  const places = [
    0,
    ...cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b),
    bytes.length,
  ];
  for (const [index, from] of places.entries()) stage.write(bytes.subarray(from, places[index + 1]));
  stage.end();
  await stream.flushed();
  return lines;
}

test("script output becomes the same bounded, masked lines however it is split", async () => {
  await fuzz({
    name: "log bytes",
    inputs: { short: 1_500, long: 100_000 },
    arbitrary: output,
    async check({ bytes, cuts }) {
      const lines = await linesOf(bytes, cuts);
      expect(lines).toEqual(await linesOf(bytes, []));
      for (const line of lines) {
        expect(line).not.toContain(secret);
        expect(line.isWellFormed() && !line.includes("\0")).toBeTrue();
        expect(line.length).toBeLessThan(lineMaxLength + noticeMaxBytes);
        expect(plainText(line)).not.toMatch(/(?!\t)\p{Cc}/u);
      }
      const used = lines.reduce((sum, line) => sum + logLineSize(line), 0);
      return { used, bound: logMaxBytes + noticeMaxBytes };
    },
  });
}, 600_000);
