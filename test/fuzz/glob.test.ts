import { expect, test } from "bun:test";
import fc from "fast-check";
import { compileGlob } from "../../src/model/glob.ts";
import { fuzz } from "../support/fuzz.ts";
import { longTest } from "../support/long-test.ts";

longTest(600_000);

const budget = 100_000;
/** The last step may exceed the budget: it processes one character of one pattern of any length. */
const lastStepMax = 5_000;

const pieces = fc.constantFrom(
  "*",
  "**",
  "**/",
  "?",
  "/",
  "a",
  "b",
  "é",
  "😀",
  ".",
  "src",
  "[x]",
  "{a,b}",
  "\\",
);
const pattern = fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join(""));
const text = fc
  .array(fc.constantFrom("a", "b", "/", "é", "😀", ".", "src", "x", "\0", "\n"), { maxLength: 60 })
  .map((parts) => parts.join(""));

/** The four wildcards of the specification by backtracking; for short texts only. */
function matches(glob: string, subject: string): boolean {
  const known = new Map<string, boolean>();
  const characters = Array.from(subject);
  const tokens = glob.match(/\*\*\/|\*\*|\*|\?|[\s\S]/gu) ?? [];
  const from = (token: number, at: number): boolean => {
    const key = `${token} ${at}`;
    const found = known.get(key) ?? compute(token, at);
    known.set(key, found);
    return found;
  };
  const compute = (token: number, at: number): boolean => {
    const now = tokens[token];
    const character = characters[at];
    if (now === undefined) return character === undefined;
    if (now === "**") return from(token + 1, at) || (character !== undefined && from(token, at + 1));
    if (now === "*")
      return from(token + 1, at) || (character !== undefined && character !== "/" && from(token, at + 1));
    if (now === "**/") return from(token + 1, at) || levelEnds(at).some((end) => from(token + 1, end));
    if (character === undefined) return false;
    return (now === "?" ? character !== "/" : now === character) && from(token + 1, at + 1);
  };
  const levelEnds = (at: number) =>
    characters.flatMap((character, index) => (index >= at && character === "/" ? [index + 1] : []));
  return from(0, 0);
}

test("a glob matches what the specification says, within its budget of steps", async () => {
  await fuzz({
    name: "glob patterns",
    inputs: { short: 2_500, long: 100_000 },
    arbitrary: fc.record({ pattern, text }),
    check({ pattern, text }) {
      const work = { left: budget };
      expect(compileGlob(pattern)(text, work)).toBe(matches(pattern, text));
      return { used: budget - work.left, bound: budget };
    },
  });
}, 600_000);

test("a hostile pattern on a long text stops when its budget is used up", async () => {
  await fuzz({
    name: "glob patterns beyond the budget",
    inputs: { short: 100, long: 2_000 },
    arbitrary: fc.record({
      pattern: fc.integer({ min: 1, max: 400 }).map((length) => "**/é?*".repeat(length)),
      text: fc.integer({ min: 1, max: 400 }).map((length) => "é/aé".repeat(length)),
    }),
    check({ pattern, text }) {
      const work = { left: budget };
      compileGlob(pattern)(text, work);
      return { used: budget - work.left, bound: budget + lastStepMax };
    },
  });
}, 600_000);
