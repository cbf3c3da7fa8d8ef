const [backslash, quote, openBrace, openBracket, closeBrace, closeBracket] = [92, 34, 123, 91, 125, 93];

/** No Git host and no client nests deeper. */
export const maxNesting = 100;

/**
 * Whether JSON text nests objects and arrays deeper than `maxNesting`. Parsing such text is cheap, but recursive code, such
 * as `JSON.stringify`, blocks the event loop for seconds before the stack overflows.
 */
export function isNestedTooDeep(text: string): boolean {
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
