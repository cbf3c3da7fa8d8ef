import { buildSecretSearch, type SecretSearch } from "./secret-search.ts";

const mask = "***";
/** Shorter values are not masked: hiding every `{` or `yes` would make a log useless. */
const secretMinLength = 4;
/** For lines of a multi-line secret; shorter lines (`-----`, `}`) occur in harmless text. */
const secretLineMinLength = 8;

export interface Masker {
  /** Masks a complete text. */
  text(whole: string): string;
  /** Masks a stream of text. */
  stream(): MaskedStream;
}

export interface MaskedStream {
  /** The masked text; what may be the beginning of a secret is held back until the next piece arrives. */
  push(piece: string): string;
  /** The text that was held back; the stream has ended. */
  end(): string;
}

/** Replaces secret values in text, also if a value arrives in pieces. */
export function buildMasker(secrets: Iterable<string>): Masker {
  const values = maskedValues(secrets);
  if (values.length === 0) return { text: (whole) => whole, stream: plainStream };
  const search = buildSecretSearch(values);
  return {
    text(whole) {
      const stream = maskedStream(search);
      return stream.push(whole) + stream.end();
    },
    stream: () => maskedStream(search),
  };
}

function plainStream(): MaskedStream {
  return { push: (piece) => piece, end: () => "" };
}

function maskedStream(search: SecretSearch): MaskedStream {
  /** Text that is not decided yet. */
  let held = "";
  let node = 0;
  /** Secrets in the held text, by their beginning; none is inside another. */
  let found: { from: number; to: number }[] = [];
  /** The held text up to here belongs to a secret whose mask was given out. */
  let masked = 0;

  function note(from: number, to: number): void {
    while ((found.at(-1)?.from ?? -1) >= from) found.pop();
    found.push({ from, to });
  }

  /** Gives out the text before `end`: no other secret can begin there. */
  function take(end: number): string {
    let given = "";
    for (const { from, to } of found) {
      if (from >= end) break;
      if (from >= masked) given += held.slice(masked, from) + mask;
      masked = to;
    }
    if (masked < end) {
      given += held.slice(masked, end);
      masked = end;
    }
    const open = found.filter(({ from }) => from >= end);
    // Of a secret that reaches beyond `end`, the rest stays: another one may begin inside it.
    held = held.slice(end);
    found = open.map(({ from, to }) => ({ from: from - end, to: to - end }));
    masked -= end;
    return given;
  }

  return {
    push(piece) {
      const begin = held.length;
      held += piece;
      for (let at = 0; at < piece.length; at += 1) {
        node = search.next(node, piece.charCodeAt(at));
        const length = search.found(node);
        const to = begin + at + 1;
        if (length > 0) note(to - length, to);
      }
      return take(held.length - search.length(node));
    },
    end() {
      node = 0;
      return take(held.length);
    },
  };
}

function maskedValues(secrets: Iterable<string>): string[] {
  const values = new Set<string>();
  for (const secret of secrets) {
    const whole = secret.trim();
    if (whole.length >= secretMinLength) values.add(whole);
    const lines = whole.split(/\r?\n/);
    if (lines.length === 1) continue;
    for (const line of lines) if (line.trim().length >= secretLineMinLength) values.add(line.trim());
  }
  return [...values];
}
