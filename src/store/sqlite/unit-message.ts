import type { MadeUnit } from "../query/scope.ts";

/**
 * Units on their way to the writing thread: texts, which Bun hands over many times faster than a tree of values. The
 * first is JSON, the others are the long values as they are: a body full of quotes costs more to escape and to read than
 * to store.
 */
export type UnitMessage = string[];

const minLongValue = 100;
/** Stands in the JSON for the next of the long values; no parameter is a list. */
const longValue: [] = [];

type Value = string | number | null | { idOf: number } | [];
type Part = [text: number, values: Value[]];
interface Head {
  /** The texts of the queries: a group holds a few of them many times. */
  texts: string[];
  units: Part[][];
}

export function encodeUnits(units: readonly MadeUnit[]): UnitMessage {
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
    return longValue;
  };
  const parts = units.map((unit) =>
    unit.map(({ sql, parameters }): Part => [placeOf(sql), parameters.map(crossing)]),
  );
  return [JSON.stringify({ texts: [...places.keys()], units: parts } satisfies Head), ...longValues];
}

export function decodeUnits([head = "", ...longValues]: UnitMessage): MadeUnit[] {
  const { texts, units } = JSON.parse(head) as Head;
  let next = 0;
  const restored = (value: Value) => (Array.isArray(value) ? longValues[next++] : value);
  return units.map((unit) =>
    unit.map(([text, values]) => ({ sql: texts[text] ?? "", parameters: values.map(restored) })),
  );
}
