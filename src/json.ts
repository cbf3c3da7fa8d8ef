const [backslash, quote, openBrace, openBracket, closeBrace, closeBracket] = [92, 34, 123, 91, 125, 93];

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

/** No Git host and no client nests deeper. */
export const maxNesting = 100;

/**
 * Whether JSON text nests objects and arrays deeper than `maxNesting`. Each level of such text costs memory, and recursive
 * code, such as `JSON.stringify`, blocks the event loop for seconds before the stack overflows.
 */
export function isNestedTooDeep(text: string): boolean {
  // A search by the runtime is far cheaper than the walk below, and enough for nearly every text.
  if (!mayNestTooDeep(text)) return false;
  let depth = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === backslash) index++;
    else if (code === quote) isInString = !isInString;
    else if (isInString) continue;
    else if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) depth--;
    if (depth > maxNesting) return true;
  }
  return false;
}

/** Whether the text has more opening brackets than may be nested, wherever they are. */
function mayNestTooDeep(text: string): boolean {
  let left = maxNesting;
  for (const bracket of ["{", "["])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1))
      if (--left < 0) return true;
  return false;
}
