import { expect, test } from "bun:test";
import { type FilterWord, filterTextOf, readFilterText, suggestionsFor } from "../../console/filter-text.ts";

const label = () => "";
const words: FilterWord[] = [
  { word: "state", parameter: "state", label, values: ["queued", "failed"] },
  { word: "project", parameter: "projectId", label },
  { word: "author", parameter: "author", label },
  { word: "from", parameter: "from", label, isTime: true },
  { word: "to", parameter: "to", label, isTime: true },
  {
    word: "branch",
    parameter: "ref",
    label,
    isBare: true,
    shorten: (ref) => ref.replace(/^refs\/heads\//, ""),
  },
];
const empty = { state: "", projectId: "", author: "", from: "", to: "", ref: "" };
const read = (text: string) => readFilterText(text, words);

test("a text is the parameters that it names, and a bare word is the branch", () => {
  expect(read("state:failed project:shop main")).toEqual({
    filters: { ...empty, state: "failed", projectId: "shop", ref: "main" },
    problems: [],
  });
  expect(read("  ")).toEqual({ filters: empty, problems: [] });
  expect(read("State：failed branch:main author:").filters).toEqual({
    ...empty,
    state: "failed",
    ref: "main",
  });
});

test("every value survives the way to the text and back", () => {
  for (const value of [
    "Ada Lovelace",
    'Ada "A" L',
    "a\\b c",
    "a:b",
    "a：b",
    '"',
    "refs/tags/v1",
    "宋 江",
    "\\",
  ])
    for (const parameter of ["author", "ref", "projectId"]) {
      const filters = { ...empty, state: "failed", [parameter]: value };
      expect(read(filterTextOf(filters, words))).toEqual({ filters, problems: [] });
    }
  expect(filterTextOf({ ...empty, ref: "refs/heads/main", author: "Ada L" }, words)).toBe(
    'author:"Ada L" main',
  );
});

test("a day alone is a whole day", () => {
  const { filters, problems } = read("from:2026-01-30 to:2026-01-31");
  expect(filters).toMatchObject({ from: "2026-01-30T00:00", to: "2026-01-31T23:59" });
  expect(problems).toEqual([]);
});

test("unknown words and values, wrong times and repetitions are problems", () => {
  const kinds = (text: string) => read(text).problems.map(({ kind }) => kind);
  expect(kinds("colour:red state:odd from:never main next state:failed")).toEqual([
    "word",
    "value",
    "time",
    "twice",
  ]);
  expect(kinds("state:failed state:queued")).toEqual(["twice"]);
  expect(kinds("from:2026-13-41")).toEqual(["time"]);
});

test("the word that is being typed gets suggestions, and what stands before it stays", () => {
  const authors = ["Ada Lovelace", "Bob"];
  const suggested = (text: string) =>
    suggestionsFor(text, words, ({ word }) => (word === "author" ? authors : [])).map((each) => each.text);
  expect(suggested("")).toEqual(["state:", "project:", "author:", "from:", "to:", "branch:"]);
  expect(suggested("main st")).toEqual(["main state:"]);
  expect(suggested("main fa")).toEqual(["main state:failed"]);
  expect(suggested("state:")).toEqual(["state:queued", "state:failed"]);
  expect(suggested("state:failed")).toEqual([]);
  expect(suggested("state:failed ")).not.toContain("state:failed state:");
  expect(suggested('main author:"ada ')).toEqual(['main author:"Ada Lovelace"']);
});
