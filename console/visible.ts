import { visibleText } from "../src/visible-text.ts";

/**
 * Text of other people (names, messages, refs, reasons) as the page shows it: characters that would reorder or hide
 * what stands beside them are written out. White space stays.
 */
export function visible(text: string): string {
  return visibleText(text, "\n\r\t");
}
