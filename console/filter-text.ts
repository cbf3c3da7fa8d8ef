/** A word of a filter text, such as `state` in `state:failed`. */
export interface FilterWord {
  word: string;
  /** Its parameter in the address. */
  parameter: string;
  label: () => string;
  /** All values that it can have; without them it takes any text. */
  values?: readonly string[];
  labelOf?: (value: string) => string;
  isTime?: boolean;
  /** Its value is written without the word. */
  isBare?: boolean;
  /** The short form of a parameter that means the same. */
  shorten?: (value: string) => string;
}

export type FilterProblem =
  | { kind: "word"; word: string }
  | { kind: "value" | "time" | "twice"; word: FilterWord; value: string };

export interface Suggestion {
  /** The filter text after it is chosen. */
  text: string;
  /** What it adds to the text. */
  part: string;
  label: string;
}

interface Token {
  start: number;
  end: number;
  word: string;
  value: string;
}

/** Chinese keyboards type a wide colon. */
const token = /(?:([\p{L}\d_-]+)[:：])?(?:"((?:[^"\\]|\\.)*)(?:"|$)|(\S*))/gu;

function tokensOf(text: string): Token[] {
  return [...text.matchAll(token)]
    .filter(([whole]) => whole !== "")
    .map(({ index, 0: whole, 1: word = "", 2: quoted, 3: plain = "" }) => ({
      start: index,
      end: index + whole.length,
      word: word.toLowerCase(),
      value: quoted === undefined ? plain : quoted.replaceAll(/\\(.)/g, "$1"),
    }));
}

function written({ word, isBare = false }: FilterWord, value: string): string {
  const isQuoted = isBare ? /[\s":：]/.test(value) : /[\s"]/.test(value);
  const text = isQuoted ? `"${value.replaceAll(/["\\]/g, "\\$&")}"` : value;
  return isBare ? text : `${word}:${text}`;
}

/** The parameters of the address as one text. */
export function filterTextOf(
  filters: Readonly<Record<string, string>>,
  words: readonly FilterWord[],
): string {
  return words
    .map((word) => ({ word, value: filters[word.parameter] ?? "" }))
    .filter(({ value }) => value !== "")
    .map(({ word, value }) => written(word, word.shorten?.(value) ?? value))
    .join(" ");
}

/** The parameters that a text means, with an empty one for each word that it does not have. */
export function readFilterText(
  text: string,
  words: readonly FilterWord[],
): { filters: Record<string, string>; problems: FilterProblem[] } {
  const filters = Object.fromEntries(words.map(({ parameter }) => [parameter, ""]));
  const problems: FilterProblem[] = [];
  for (const { word: name, value: typed } of tokensOf(text)) {
    const word = words.find((each) => (name === "" ? each.isBare : each.word === name));
    if (word === undefined) {
      problems.push({ kind: "word", word: name === "" ? typed : name });
      continue;
    }
    const value = word.isTime ? wholeTime(word, typed) : typed;
    const problem = problemOf(word, value);
    if (filters[word.parameter] !== "") problems.push({ kind: "twice", word, value });
    else if (problem !== null) problems.push(problem);
    else filters[word.parameter] = value;
  }
  return { filters, problems };
}

/** Why a word cannot have a value; null: it can. */
export function problemOf(word: FilterWord, value: string): FilterProblem | null {
  if (value === "") return null;
  if (word.values?.includes(value) === false) return { kind: "value", word, value };
  return word.isTime && !isTime(value) ? { kind: "time", word, value } : null;
}

/** A day alone begins at midnight, and as the end of a period it is included. */
function wholeTime({ parameter }: FilterWord, typed: string): string {
  if (!/^\d{4}-\d\d-\d\d$/.test(typed)) return typed;
  return `${typed}T${parameter === "to" ? "23:59" : "00:00"}`;
}

/** Whether it is the value of a field for date and time; the address bar may contain anything. */
export function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text));
}

/** The word that is being typed: the last one, unless a space follows it. */
export function typedWord(text: string): Token {
  const last = tokensOf(text).at(-1);
  return last?.end === text.length ? last : { start: text.length, end: text.length, word: "", value: "" };
}

/** Ways to go on with a text. `valuesOf` knows more values of words than the fixed ones. */
export function suggestionsFor(
  text: string,
  words: readonly FilterWord[],
  valuesOf: (word: FilterWord) => readonly string[],
): Suggestion[] {
  const typed = typedWord(text);
  const before = text.slice(0, typed.start);
  const used = new Set(tokensOf(before).map(({ word }) => word));
  const begun = typed.value.toLowerCase();
  const free = words.filter(({ word }) => !used.has(word));
  const valuesIn = (word: FilterWord) =>
    [...new Set([...(word.values ?? []), ...valuesOf(word)])]
      .filter((value) => value !== "" && value.toLowerCase().startsWith(begun))
      .map((value) => ({
        part: written({ ...word, isBare: false }, value),
        label: word.labelOf?.(value) ?? "",
      }));
  const ways =
    typed.word !== ""
      ? free.filter(({ word }) => word === typed.word).flatMap(valuesIn)
      : [
          ...free
            .filter(({ word }) => word.startsWith(begun))
            .map((word) => ({ part: `${word.word}:`, label: word.label() })),
          ...(begun === "" ? [] : free.filter(({ values }) => values !== undefined).flatMap(valuesIn)),
        ];
  return ways
    .map(({ part, label }) => ({ text: before + part, part, label }))
    .filter((way) => way.text !== text);
}
