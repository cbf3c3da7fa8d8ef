import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { buildLineSplitter, lineMaxLength } from "../../src/runner/log/line-splitter.ts";
import { buildMasker, maskText } from "../../src/runner/log/masker.ts";

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
          const masker = buildMasker(secrets);
          const streamed = inPieces(whole, lengths)
            .map((piece) => masker.push(piece))
            .join("");
          expect(streamed + masker.end()).toBe(maskText(secrets, whole));
        },
      ),
    );
  });

  test("no secret is left in it", () => {
    fc.assert(
      fc.property(secret, text, text, (value, before, after) => {
        expect(maskText([value], before + value + after)).not.toContain(value);
      }),
    );
  });

  test("what cannot be a secret is passed on at once", () => {
    const masker = buildMasker(["password"]);
    expect(masker.push("hello ")).toBe("hello ");
    expect(masker.push("pass")).toBe("");
    expect(masker.push("port")).toBe("passport");
  });

  test("of two secrets with the same beginning the longer one wins", () => {
    expect(maskText(["token", "token-of-ann"], "x token-of-ann y token z")).toBe("x *** y *** z");
  });

  test("short values are left alone, so that a log stays readable", () => {
    expect(maskText(["{", "no", "yes", ""], '{ "no": "yes" }')).toBe('{ "no": "yes" }');
  });

  test("a value with line ends around it is masked without them", () => {
    expect(maskText(["s3cr3t\n"], "it is s3cr3t.")).toBe("it is ***.");
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
