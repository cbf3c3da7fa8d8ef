import { visibleText } from "../src/visible-text.ts";

/**
 * Escapes characters in text of other users (names, messages, refs, reasons) that would reorder or hide the text around
 * them. White space is kept.
 */
export function visible(text: string): string {
  return visibleText(text, "\n\r\t");
}
