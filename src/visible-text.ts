/**
 * Characters that a terminal or browser obeys instead of showing: controls, changes of the writing direction, line
 * separators, and characters without width. In text of other people they can hide, reorder or forge what is read.
 */
const obeyed =
  /[\p{Cc}\p{Bidi_Control}\u2028\u2029\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Writes such characters out, as `\x1b` or `\u202e`. Those in `kept` stay. */
export function visibleText(text: string, kept = ""): string {
  return text.replaceAll(obeyed, (character) =>
    kept.includes(character) ? character : writtenOut(character),
  );
}

function writtenOut(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\u{${code}}`;
}
