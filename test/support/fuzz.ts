import { appendFileSync } from "node:fs";
import { connect } from "node:net";
import fc from "fast-check";
import { pick } from "./length.ts";

/** What one input cost, counted in the unit of its target: steps, bytes or rows. */
export interface CountedWork {
  used: number;
  /** The documented limit for this input. */
  bound: number;
}

export interface FuzzTarget<T> {
  name: string;
  /** How many inputs the daily run and the full run send; over all targets 20,000 and one million. */
  inputs: { short: number; long: number };
  arbitrary: fc.Arbitrary<T>;
  /** Throws when the product broke a promise. */
  check: (input: T) => CountedWork | Promise<CountedWork>;
  /** Inputs that one value of `arbitrary` holds; 1 unless the target sends batches. */
  batchSize?: number;
}

/** The same inputs every time, unless SLIPWAY_TEST_FUZZ_SEED names another seed. */
const seed = Number(process.env.SLIPWAY_TEST_FUZZ_SEED ?? 1);

/**
 * Sends inputs to a target and fails on the first that breaks it, reduced to its smallest form. One line of figures per
 * target goes to the file that SLIPWAY_TEST_FUZZ_REPORT names.
 */
export async function fuzz<T>(target: FuzzTarget<T>): Promise<void> {
  const inputs = pick(target.inputs.short, target.inputs.long);
  const startedAt = performance.now();
  let largestShare = 0;
  const property = fc.asyncProperty(target.arbitrary, async (input) => {
    const { used, bound } = await target.check(input);
    largestShare = Math.max(largestShare, used / bound);
    if (used > bound) throw new Error(`${target.name}: the work of ${used} exceeds its bound of ${bound}`);
  });
  await fc.assert(property, { seed, numRuns: Math.ceil(inputs / (target.batchSize ?? 1)) });
  const seconds = Number(((performance.now() - startedAt) / 1000).toFixed(1));
  const figures = { target: target.name, inputs, seed, seconds, largestShare };
  const report = process.env.SLIPWAY_TEST_FUZZ_REPORT;
  if (report) appendFileSync(report, `${JSON.stringify(figures)}\n`);
}

/** Text that parsers often handle wrongly. */
const hostilePieces = [
  "\0",
  "\r\n",
  "\n\n",
  "\u001b[31m",
  "\u202e",
  "\ud83d\ude00",
  '"',
  "\\u0000",
  "\\ud800",
  "{",
  "[".repeat(200),
  "}",
  "null",
  "-1",
  "1e999",
  "9007199254740993",
  "__proto__",
  "constructor",
  "../../",
  "%00",
  "%",
  "&",
  "=",
  ":",
  "refs/heads/",
  "0".repeat(40),
  "é".repeat(300),
].map((text) => Buffer.from(text));

const change = fc.record({
  kind: fc.constantFrom("flip", "cut", "remove", "repeat", "insert", "replace"),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.integer({ min: 1, max: 64 }),
  piece: fc.constantFrom(...hostilePieces),
  bit: fc.nat(7),
});
type Change = typeof change extends fc.Arbitrary<infer C> ? C : never;

/** Real inputs with up to eight changes to their bytes: flipped bits, cuts, repeats, pieces put in or replaced. */
export function mutated(samples: Uint8Array[]): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fc.constantFrom(...samples), fc.array(change, { maxLength: 8 }))
    .map(([sample, changes]) => changes.reduce(changed, Buffer.from(sample)));
}

export function mutatedText(samples: string[]): fc.Arbitrary<string> {
  return mutated(samples.map((sample) => Buffer.from(sample))).map((bytes) => bytes.toString());
}

function changed(bytes: Buffer, { kind, at, length, piece, bit }: Change): Buffer {
  const start = Math.floor(at * bytes.length);
  const before = bytes.subarray(0, start);
  const part = bytes.subarray(start, start + length);
  const after = bytes.subarray(start + length);
  if (kind === "cut") return Buffer.from(before);
  if (kind === "remove") return Buffer.concat([before, after]);
  if (kind === "repeat") return Buffer.concat([before, part, part, part, after]);
  if (kind === "insert") return Buffer.concat([before, piece, part, after]);
  if (kind === "replace") return Buffer.concat([before, piece, after]);
  const flipped = Buffer.from(bytes);
  if (start < flipped.length) flipped[start] = (flipped[start] ?? 0) ^ (1 << bit);
  return flipped;
}

/**
 * Sends pieces over a bare socket, each after an answer to the one before, closes its own side, and waits until the server
 * closes the other; after `patienceMs` it no longer waits.
 */
export function sendBytes(
  port: number,
  pieces: (string | Uint8Array)[],
  patienceMs: number,
): Promise<{ head: string; bytes: number }> {
  const { promise, resolve } = Promise.withResolvers<{ head: string; bytes: number }>();
  const [first = "", ...rest] = pieces;
  const socket = connect(port, "127.0.0.1");
  let head = "";
  const send = (piece: string | Uint8Array) => (rest.length > 0 ? socket.write(piece) : socket.end(piece));
  const timer = setTimeout(() => socket.destroy(), patienceMs);
  socket.on("data", (chunk) => {
    if (head.length < 100) head += chunk.toString("latin1");
    const next = rest.shift();
    if (next !== undefined) send(next);
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    clearTimeout(timer);
    resolve({ head, bytes: socket.bytesRead });
  });
  send(first);
  return promise;
}
