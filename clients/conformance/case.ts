import cases from "./cases.json";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** One step: a name and its value. docs/clients.md explains each. */
export type Step = Record<string, Json>;

export interface ConformanceCase {
  name: string;
  about: string;
  options: Record<string, Json>;
  /** What not every client can do: the case is left out for those that cannot. */
  needs: string | null;
  /** Answers to the requests for a code: a text, an HTTP status, or null for "no user". Then `code-1`, `code-2`, … */
  codes: (string | number | null)[];
  steps: Step[];
}

/** Short pauses, so that a case does not take long. */
const shortPauses = { minDelayMs: 10, maxDelayMs: 50 };

/** The table, with defaults filled in and repetitions written out. */
export const conformanceCases: ConformanceCase[] = cases.map((written) => {
  const {
    name,
    about,
    options = {},
    needs = null,
    codes = [],
    repeat = [null],
    steps,
  } = written as never as {
    repeat?: Json[];
  } & Pick<ConformanceCase, "name" | "about" | "steps"> &
    Partial<ConformanceCase>;
  const expanded = repeat.flatMap((value) => steps.map((step) => replaced(step, value) as Step));
  return { name, about, options: { ...shortPauses, ...options }, needs, codes, steps: expanded };
});

/** `"$"` is the value of the repetition, `{ times, text }` a long text. */
function replaced(value: Json, repetition: Json): Json {
  if (value === "$") return repetition;
  if (Array.isArray(value)) return value.map((item) => replaced(item, repetition));
  if (typeof value !== "object" || value === null) return value;
  if (typeof value.times === "number" && typeof value.text === "string")
    return value.text.repeat(value.times);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaced(item, repetition)]));
}

/** Whether everything expected is there: other fields are allowed, `{ from, to }` is a range. */
export function matches(actual: unknown, expected: Json): boolean {
  if (typeof expected !== "object" || expected === null) return actual === expected;
  if (Array.isArray(expected)) return JSON.stringify(actual) === JSON.stringify(expected);
  const { from, to } = expected;
  if (typeof from === "number" && typeof to === "number")
    return typeof actual === "number" && actual >= from && actual <= to;
  const fields = Object(actual) as Record<string, unknown>;
  return Object.entries(expected).every(([name, value]) => matches(fields[name], value));
}
