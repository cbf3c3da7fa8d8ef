const mask = "***";
/** Shorter values are not masked: hiding every `{` or `yes` would make a log useless. */
const secretMinLength = 4;
/** For lines of a multi-line secret; shorter lines (`-----`, `}`) occur in harmless text. */
const secretLineMinLength = 8;

/**
 * Replaces secret values in a stream of text, also if a value arrives in pieces: text that may be the beginning of a
 * secret is held back until the next piece arrives.
 */
export function buildMasker(secrets: Iterable<string>) {
  const patterns = patternsOf(secrets);
  if (patterns.length === 0) return { push: (text: string) => text, end: () => "" };
  const anyPattern = new RegExp(patterns.map((pattern) => RegExp.escape(pattern)).join("|"), "g");
  let held = "";

  /** Masks every match that begins before `end`; keeps the rest. */
  function take(end: number): string {
    let masked = "";
    let position = 0;
    for (const match of held.matchAll(anyPattern)) {
      if (match.index >= end) break;
      masked += held.slice(position, match.index) + mask;
      position = match.index + match[0].length;
    }
    if (position < end) {
      masked += held.slice(position, end);
      position = end;
    }
    held = held.slice(position);
    return masked;
  }

  return {
    push(text: string): string {
      held += text;
      return take(firstPossibleBeginning(held, patterns));
    },
    /** The text that was held back; the stream has ended. */
    end: () => take(held.length),
  };
}

/** Masks a complete text. */
export function maskText(secrets: Iterable<string>, text: string): string {
  const masker = buildMasker(secrets);
  return masker.push(text) + masker.end();
}

/** Longest first, so that the longer of two secrets with the same beginning wins. */
function patternsOf(secrets: Iterable<string>): string[] {
  const patterns = new Set<string>();
  for (const secret of secrets) {
    const whole = secret.trim();
    if (whole.length >= secretMinLength) patterns.add(whole);
    const lines = whole.split(/\r?\n/);
    if (lines.length === 1) continue;
    for (const line of lines) if (line.trim().length >= secretLineMinLength) patterns.add(line.trim());
  }
  return [...patterns].sort((a, b) => b.length - a.length);
}

/** The position where a possible beginning of a secret starts at the end of the text; otherwise the text's length. */
function firstPossibleBeginning(text: string, patterns: string[]): number {
  let first = text.length;
  for (const pattern of patterns) {
    const begin = pattern.charAt(0);
    let at = text.indexOf(begin, Math.max(0, text.length - pattern.length + 1));
    while (at !== -1 && at < first) {
      if (pattern.startsWith(text.slice(at))) first = at;
      else at = text.indexOf(begin, at + 1);
    }
  }
  return first;
}
