/**
 * Characters that a terminal or browser interprets instead of showing: control characters, bidirectional controls, line
 * separators and zero-width characters. In untrusted text they can hide, reorder or forge text.
 */
const interpreted =
  /[\p{Cc}\p{Bidi_Control}\u2028\u2029\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Escapes such characters, as `\x1b` or `\u202e`, except those in `kept`. */
export function visibleText(text: string, kept = ""): string {
  return text.replaceAll(interpreted, (character) =>
    kept.includes(character) ? character : escapeOf(character),
  );
}

function escapeOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\u{${code}}`;
}
