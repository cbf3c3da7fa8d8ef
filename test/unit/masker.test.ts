import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { buildLineSplitter, lineMaxLength } from "../../src/runner/log/line-splitter.ts";
import { buildMasker } from "../../src/runner/log/masker.ts";

/** The text in pieces of any length. */
function inPieces(text: string, lengths: number[]): string[] {
  const pieces: string[] = [];
  let rest = text;
  for (const length of lengths) {
    pieces.push(rest.slice(0, length));
    rest = rest.slice(length);
  }
  return [...pieces, rest];
}

const secret = fc.string({ minLength: 4, maxLength: 12, unit: fc.constantFrom("a", "b", "c") });
const text = fc.string({ maxLength: 60, unit: fc.constantFrom("a", "b", "c", "\n", " ") });

describe("secrets are masked in a stream", () => {
  test("wherever it is cut, the result is that of the whole text", () => {
    fc.assert(
      fc.property(
        fc.array(secret, { maxLength: 4 }),
        text,
        fc.array(fc.nat(8), { maxLength: 20 }),
        (secrets, whole, lengths) => {
          const masker = buildMasker(secrets).stream();
          const streamed = inPieces(whole, lengths)
            .map((piece) => masker.push(piece))
            .join("");
          expect(streamed + masker.end()).toBe(buildMasker(secrets).text(whole));
        },
      ),
    );
  });

  test("no secret is left in it", () => {
    fc.assert(
      fc.property(secret, text, text, (value, before, after) => {
        expect(buildMasker([value]).text(before + value + after)).not.toContain(value);
      }),
    );
  });

  test("what cannot be a secret is passed on at once", () => {
    const masker = buildMasker(["password"]).stream();
    expect(masker.push("hello ")).toBe("hello ");
    expect(masker.push("pass")).toBe("");
    expect(masker.push("port")).toBe("passport");
  });

  test("of two secrets with the same beginning the longer one wins", () => {
    expect(buildMasker(["token", "token-of-ann"]).text("x token-of-ann y token z")).toBe("x *** y *** z");
  });

  test("of secrets that overlap nothing is left", () => {
    const masker = buildMasker(["token-of-ann", "ann-and-bob"]).stream();
    expect(masker.push("x token-of-ann") + masker.push("-and-bob y") + masker.end()).toBe("x *** y");
  });

  test("every character of every secret is masked, and nothing else", () => {
    fc.assert(
      fc.property(fc.array(secret, { minLength: 1, maxLength: 4 }), text, (secrets, whole) => {
        const isMasked = [...whole].map((_, at) =>
          secrets.some((value) => {
            for (let from = Math.max(0, at - value.length + 1); from <= at; from += 1)
              if (whole.startsWith(value, from)) return true;
            return false;
          }),
        );
        const open = [...whole].filter((_, at) => !isMasked[at]).join("");
        expect(buildMasker(secrets).text(whole).replaceAll("***", "")).toBe(open);
      }),
    );
  });

  test("many large secrets are masked, and output that resembles them is not", () => {
    const large = Array.from({ length: 62 }, (_, index) => `${index}-${"s".repeat(32_000)}`);
    const alike = Array.from({ length: 3000 }, (_, index) => `alike-${"a".repeat(10)}${index}`).join("\n");
    const masker = buildMasker([...large, alike, "a".repeat(60_000)]);
    expect(masker.text(`begin ${large[61]} end`)).toBe("begin *** end");
    const stream = masker.stream();
    const piece = `alike-${"a".repeat(59_000)}b`;
    const given = Array.from({ length: 50 }, () => stream.push(piece)).join("") + stream.end();
    expect(given === piece.repeat(50)).toBe(true);
  });

  test("short values are left alone, so that a log stays readable", () => {
    expect(buildMasker(["{", "no", "yes", ""]).text('{ "no": "yes" }')).toBe('{ "no": "yes" }');
  });

  test("a value with line ends around it is masked without them", () => {
    expect(buildMasker(["s3cr3t\n"]).text("it is s3cr3t.")).toBe("it is ***.");
  });
});

describe("a stream becomes lines", () => {
  test("wherever it is cut, the lines are those of the whole text", () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(8), { maxLength: 20 }), (whole, lengths) => {
        const splitter = buildLineSplitter();
        const lines = inPieces(whole, lengths).flatMap((piece) => splitter.push(piece));
        const expected = whole.split("\n");
        if (expected.at(-1) === "") expected.pop();
        expect([...lines, ...splitter.end()]).toEqual(expected);
      }),
    );
  });

  test("a line without end is cut visibly and does not fill the memory", () => {
    const splitter = buildLineSplitter();
    for (let each = 0; each < 100; each += 1) expect(splitter.push("x".repeat(lineMaxLength))).toEqual([]);
    const [line = ""] = splitter.push("\n");
    expect(line).toBe(`${"x".repeat(lineMaxLength)} [line cut: ${99 * lineMaxLength} more characters]`);
  });
});
