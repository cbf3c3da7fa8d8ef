import { isNestedTooDeep } from "./json-nesting.ts";

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Text from outside. Undefined: it is not JSON, or nested deeper than any valid text. */
export function parseJson(text: string): unknown {
  if (isNestedTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
