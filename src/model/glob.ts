// Globs with exactly four wildcards: `*` any characters except `/`, `**` any characters across levels, `**/` zero or
// more directory levels, `?` one character other than `/`. Everything else is literal.
//
// A pattern becomes a set of states kept in the bits of words; each character of the text moves all of them at once.
// The cost is length of text × words of pattern, whatever the pattern: nobody can write one that hangs us, which
// regular expressions built from patterns would allow.

export type Glob = (text: string) => boolean;

export function matchGlob(pattern: string, text: string): boolean {
  return compileGlob(pattern)(text);
}

type Token = { literal: number } | "?" | "*" | "**" | "**/";

export function compileGlob(pattern: string): Glob {
  const firstWildcard = pattern.search(/[*?]/);
  if (firstWildcard < 0) return (text) => text === pattern;
  const prefix = pattern.slice(0, firstWildcard);
  const afterLast = Math.max(pattern.lastIndexOf("*"), pattern.lastIndexOf("?")) + 1;
  // The `/` of a closing `**/` belongs to the wildcard, not to the literal end.
  const isLevels = pattern.startsWith("**/", afterLast - 2) && isPairStart(pattern, afterLast - 2);
  const suffixStart = isLevels ? afterLast + 1 : afterLast;
  const suffix = pattern.slice(suffixStart);
  const tokens = tokensOf(pattern.slice(firstWildcard, suffixStart));
  const middle = tokens.length === 1 && tokens[0] === "**" ? () => true : machineOf(tokens);
  const fixedLength = prefix.length + suffix.length;
  return (text) =>
    text.length >= fixedLength &&
    text.startsWith(prefix) &&
    text.endsWith(suffix) &&
    middle(text, prefix.length, text.length - suffix.length);
}

// Whether the stars before `at` pair up, so that `at` begins a `**`: `***/` reads as `**`, `*`, `/`.
function isPairStart(pattern: string, at: number): boolean {
  let starsBefore = 0;
  while (pattern[at - 1 - starsBefore] === "*") starsBefore++;
  return starsBefore % 2 === 0;
}

function tokensOf(pattern: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; ) {
    const token = tokenAt(pattern, at);
    at += typeof token === "string" ? token.length : token.literal > 0xffff ? 2 : 1;
    const last = tokens.at(-1);
    // `**` swallows the wildcards right after it, and repeated levels are one: the same texts match.
    const isSwallowed =
      (last === "**" && (token === "*" || token === "**" || token === "**/")) ||
      (last === "**/" && token === "**/");
    if (!isSwallowed) tokens.push(token);
  }
  return tokens;
}

function tokenAt(pattern: string, at: number): Token {
  if (pattern.startsWith("**/", at)) return "**/";
  if (pattern.startsWith("**", at)) return "**";
  if (pattern[at] === "*") return "*";
  if (pattern[at] === "?") return "?";
  return { literal: pattern.codePointAt(at) ?? 0 };
}

const slash = 47;
const bitsPerWord = 31;

/** Runs the states of `tokens` over text[from, to). State n means: all tokens before the n-th consuming one are done. */
function machineOf(tokens: Token[]): (text: string, from: number, to: number) => boolean {
  const consuming = tokens.filter((token) => token !== "*" && token !== "**").length;
  const words = Math.floor(consuming / bitsPerWord) + 1;
  const staysOnAny = new Int32Array(words);
  const staysOnName = new Int32Array(words);
  const skips = new Int32Array(words);
  const movesOnName = new Int32Array(words);
  const movesOn = new Map<number, Int32Array>();
  const set = (bits: Int32Array, state: number) => {
    const word = Math.floor(state / bitsPerWord);
    bits[word] = (bits[word] ?? 0) | (1 << (state % bitsPerWord));
  };
  const movesOnCharacter = (character: number) => {
    const bits = movesOn.get(character) ?? new Int32Array(words);
    movesOn.set(character, bits);
    return bits;
  };
  let state = 0;
  for (const token of tokens) {
    if (token === "*") set(staysOnName, state);
    else if (token === "**") set(staysOnAny, state);
    else if (token === "?") set(movesOnName, state++);
    else if (token === "**/") {
      set(staysOnAny, state);
      set(skips, state);
      set(movesOnCharacter(slash), state++);
    } else set(movesOnCharacter(token.literal), state++);
  }
  for (const [character, bits] of movesOn)
    if (character !== slash)
      for (let word = 0; word < words; word++) bits[word] = (bits[word] ?? 0) | (movesOnName[word] ?? 0);
  const movesOnSlash = movesOn.get(slash) ?? new Int32Array(words);
  const lastWord = Math.floor(state / bitsPerWord);
  const accepts = 1 << (state % bitsPerWord);
  const single = words === 1;
  const ascii = Array.from({ length: 128 }, (_, code) =>
    code === slash ? (movesOnSlash[0] ?? 0) : (movesOn.get(code)?.[0] ?? movesOnName[0] ?? 0),
  );

  function runSingle(text: string, from: number, to: number): boolean {
    const any = staysOnAny[0] ?? 0;
    const name = any | (staysOnName[0] ?? 0);
    const skip = skips[0] ?? 0;
    let active = 1 | ((1 & skip) << 1);
    for (let at = from; at < to && active !== 0; at++) {
      const code = text.codePointAt(at) ?? 0;
      if (code > 0xffff) at++;
      const moves = code < 128 ? (ascii[code] ?? 0) : (movesOn.get(code)?.[0] ?? movesOnName[0] ?? 0);
      const entered = (active & moves) << 1;
      active = (active & (code === slash ? any : name)) | entered | ((entered & skip) << 1);
    }
    return (active & accepts) !== 0;
  }

  function runWide(text: string, from: number, to: number): boolean {
    const active = new Int32Array(words);
    active[0] = 1 | ((1 & (skips[0] ?? 0)) << 1);
    for (let at = from; at < to; at++) {
      const code = text.codePointAt(at) ?? 0;
      if (code > 0xffff) at++;
      stepWide(active, code);
    }
    return ((active[lastWord] ?? 0) & accepts) !== 0;
  }

  const wordMask = 0x7fffffff;
  function stepWide(active: Int32Array, code: number): void {
    const moves = code === slash ? movesOnSlash : (movesOn.get(code) ?? movesOnName);
    let enteredCarry = 0;
    let skippedCarry = 0;
    for (let word = 0; word < words; word++) {
      const before = active[word] ?? 0;
      const moving = before & (moves[word] ?? 0);
      const entered = ((moving << 1) & wordMask) | enteredCarry;
      enteredCarry = (moving >>> (bitsPerWord - 1)) & 1;
      const skipping = entered & (skips[word] ?? 0);
      const skipped = ((skipping << 1) & wordMask) | skippedCarry;
      skippedCarry = (skipping >>> (bitsPerWord - 1)) & 1;
      const stays = (staysOnAny[word] ?? 0) | (code === slash ? 0 : (staysOnName[word] ?? 0));
      active[word] = (before & stays) | entered | skipped;
    }
  }

  return single ? runSingle : runWide;
}
