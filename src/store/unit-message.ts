import type { MadeUnit } from "./made-unit.ts";

/**
 * Units on their way to the writing thread: one text, which Bun hands over many times faster than a tree of values. It
 * is JSON with the long values behind it as they are: a body full of quotes costs more to escape and to read than to
 * store.
 */
const minLongValue = 100;

/** A long value is named by its length, in a list, which no parameter is. */
type Value = string | number | null | { idOf: number } | [length: number];
type Part = [text: number, values: Value[]];
interface Head {
  /** The texts of the queries: a group holds a few of them many times. */
  texts: string[];
  units: Part[][];
}

export function encodeUnits(units: readonly MadeUnit[]): string {
  const places = new Map<string, number>();
  const placeOf = (sql: string) => {
    const known = places.get(sql);
    if (known !== undefined) return known;
    places.set(sql, places.size);
    return places.size - 1;
  };
  const longValues: string[] = [];
  const crossing = (value: unknown): Value => {
    if (typeof value !== "string" || value.length < minLongValue) return value as Value;
    longValues.push(value);
    return [value.length];
  };
  const parts = units.map((unit) =>
    unit.map(({ sql, parameters }): Part => [placeOf(sql), parameters.map(crossing)]),
  );
  const head = JSON.stringify({ texts: [...places.keys()], units: parts } satisfies Head);
  return [`${head.length} `, head, ...longValues].join("");
}

export function decodeUnits(message: string): MadeUnit[] {
  const start = message.indexOf(" ") + 1;
  let at = start + Number(message.slice(0, start));
  const { texts, units } = JSON.parse(message.slice(start, at)) as Head;
  const restored = (value: Value) => {
    if (!Array.isArray(value)) return value;
    const from = at;
    at += value[0];
    return message.slice(from, at);
  };
  return units.map((unit) =>
    unit.map(([text, values]) => ({ sql: texts[text] ?? "", parameters: values.map(restored) })),
  );
}
