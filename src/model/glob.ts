// Globs with exactly four wildcards: `*` any characters except `/`, `**` any characters across levels, `**/` zero or
// more directory levels, `?` one character other than `/`. Everything else is literal.
//
// A pattern is compiled to a nondeterministic automaton whose states are bits of words. Each character of the text moves
// all states at once, and transitions between sets of states are cached. The cost is at most length of text × words of
// pattern, so no pattern can block the event loop, as a regular expression could. Many patterns over many texts still
// add up, so their total cost is limited by MatchWork.

/**
 * The remaining budget of a match, in steps of about ten nanoseconds. Below zero every match returns false, whether the
 * text matches or not.
 */
export interface MatchWork {
  left: number;
}

export type Glob = (text: string, work?: MatchWork) => boolean;

export function matchGlob(pattern: string, text: string): boolean {
  return compileGlob(pattern)(text);
}

type Token = { literal: number } | "?" | "*" | "**" | "**/";

export function compileGlob(pattern: string): Glob {
  const firstWildcard = pattern.search(/[*?]/);
  if (firstWildcard < 0) return (text, work = unlimited()) => spend(work, callCost) && text === pattern;
  const prefix = pattern.slice(0, firstWildcard);
  const afterLast = Math.max(pattern.lastIndexOf("*"), pattern.lastIndexOf("?")) + 1;
  // The `/` of a closing `**/` belongs to the wildcard, not to the literal end.
  const suffixStart = pattern.startsWith("**/", afterLast - 2) ? afterLast + 1 : afterLast;
  const suffix = pattern.slice(suffixStart);
  const tokens = tokensOf(pattern.slice(firstWildcard, suffixStart));
  const middle: Run = tokens.length === 1 && tokens[0] === "**" ? () => true : machineOf(tokens);
  const fixedLength = prefix.length + suffix.length;
  const needed = literalsOf(tokens);
  return (text, work = unlimited()) => {
    if (!spend(work, callCost)) return false;
    if (text.length < fixedLength || !text.startsWith(prefix) || !text.endsWith(suffix)) return false;
    for (const literal of needed) {
      work.left -= searchCost + text.length / charactersPerStep;
      if (!text.includes(literal, prefix.length)) return false;
    }
    return middle(text, prefix.length, text.length - suffix.length, work);
  };
}

// Measured costs: a call with its comparisons, a native search and the characters that it compares per step, a computed
// character and word of states, and the caching of one transition.
const [callCost, searchCost, charactersPerStep] = [10, 20, 8];
const [characterCost, wordCost, learnCost] = [8, 3, 1000];

function unlimited(): MatchWork {
  return { left: Number.POSITIVE_INFINITY };
}

/** False if the budget is used up. */
function spend(work: MatchWork, cost: number): boolean {
  work.left -= cost;
  return work.left >= 0;
}

function tokensOf(pattern: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; ) {
    const token = tokenAt(pattern, at);
    at += typeof token === "string" ? token.length : token.literal > 0xffff ? 2 : 1;
    const last = tokens.at(-1);
    // Wildcards right after `**`, and a repeated `**/`, match nothing more.
    const isRedundant =
      (last === "**" && (token === "*" || token === "**" || token === "**/")) ||
      (last === "**/" && token === "**/");
    if (!isRedundant) tokens.push(token);
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

/**
 * The distinct runs of literal characters: a native search rejects a text that lacks one of them. The longest come first,
 * then the last ones, because texts that start alike often differ at the end.
 */
function literalsOf(tokens: Token[]): string[] {
  const runs = [""];
  for (const token of tokens) {
    if (typeof token === "string") runs.push("");
    else runs.push(`${runs.pop() ?? ""}${String.fromCodePoint(token.literal)}`);
  }
  const different = [...new Set(runs)].filter((run) => run !== "").reverse();
  return different.sort((a, b) => b.length - a.length).slice(0, 4);
}

type Run = (text: string, from: number, to: number, work: MatchWork) => boolean;

/** Runs the automaton of `tokens` over text[from, to). State n: all tokens before the n-th consuming token have matched. */
function machineOf(tokens: Token[]): Run {
  const consuming = tokens.filter((token) => token !== "*" && token !== "**").length;
  const words = Math.floor(consuming / bitsPerWord) + 1;
  const newSet = () => new Int32Array(words);
  const [staysOnAny, staysOnName, skips, movesOnName] = [newSet(), newSet(), newSet(), newSet()];
  const movesOn = new Map<number, Int32Array>();
  const movesOnCharacter = (character: number) => {
    const bits = movesOn.get(character) ?? newSet();
    movesOn.set(character, bits);
    return bits;
  };
  let state = 0;
  for (const token of tokens) {
    if (token === "*") add(staysOnName, state);
    else if (token === "**") add(staysOnAny, state);
    else if (token === "?") add(movesOnName, state++);
    else if (token === "**/") {
      add(staysOnAny, state);
      add(skips, state);
      add(movesOnCharacter(slash), state++);
    } else add(movesOnCharacter(token.literal), state++);
  }
  for (const [character, bits] of movesOn)
    if (character !== slash)
      for (const [word, more] of movesOnName.entries()) bits[word] = (bits[word] ?? 0) | more;
  const movesOnSlash = movesOn.get(slash) ?? newSet();

  function step(before: Int32Array, code: number, after: Int32Array): void {
    const moves = code === slash ? movesOnSlash : (movesOn.get(code) ?? movesOnName);
    let enteredCarry = 0;
    let skippedCarry = 0;
    for (let word = 0; word < words; word++) {
      const active = before[word] ?? 0;
      const moving = active & (moves[word] ?? 0);
      const entered = ((moving << 1) & wordMask) | enteredCarry;
      enteredCarry = (moving >>> (bitsPerWord - 1)) & 1;
      const skipping = entered & (skips[word] ?? 0);
      const skipped = ((skipping << 1) & wordMask) | skippedCarry;
      skippedCarry = (skipping >>> (bitsPerWord - 1)) & 1;
      const stays = (staysOnAny[word] ?? 0) | (code === slash ? 0 : (staysOnName[word] ?? 0));
      after[word] = (active & stays) | entered | skipped;
    }
  }

  const start = newSet();
  start[0] = 1 | ((1 & (skips[0] ?? 0)) << 1);
  const end = state;
  return rememberSteps(start, step, (active) => has(active, end));
}

const slash = 47;
const bitsPerWord = 31;
const wordMask = 0x7fffffff;

function add(bits: Int32Array, state: number): void {
  const word = Math.floor(state / bitsPerWord);
  bits[word] = (bits[word] ?? 0) | (1 << (state % bitsPerWord));
}

function has(bits: Int32Array, state: number): boolean {
  return ((bits[Math.floor(state / bitsPerWord)] ?? 0) & (1 << (state % bitsPerWord))) !== 0;
}

const maxRemembered = 256;
const asciiCodes = 128;

/**
 * Walks texts by `step` from one set of states to the next. Sets that occur are numbered, and the transition by an ASCII
 * character is cached at its first use; beyond the limit, steps are computed.
 */
function rememberSteps(
  start: Int32Array,
  step: (before: Int32Array, code: number, after: Int32Array) => void,
  accepts: (active: Int32Array) => boolean,
): Run {
  const sets = [start];
  const numberOf = new Map([[start.join(), 0]]);
  /** Number of the next set plus one, by number of the set and character; 0: not cached yet. */
  let nextOf = new Int32Array(asciiCodes);

  /** The number of the set that a character leads to; -1 if the cache is full. */
  function learn(number: number, code: number): number {
    const next = new Int32Array(start.length);
    step(sets[number] ?? start, code, next);
    const key = next.join();
    const known = numberOf.get(key);
    if (known === undefined && sets.length === maxRemembered) return -1;
    const nextNumber = known ?? sets.push(next) - 1;
    numberOf.set(key, nextNumber);
    if (nextOf.length < sets.length * asciiCodes) {
      const larger = new Int32Array(nextOf.length * 2);
      larger.set(nextOf);
      nextOf = larger;
    }
    nextOf[number * asciiCodes + code] = nextNumber + 1;
    return nextNumber;
  }

  /** Buffers of the current and the next set, reused for every computed step. */
  let [active, other] = [new Int32Array(start.length), new Int32Array(start.length)];

  function compute(number: number, text: string, from: number, to: number, work: MatchWork): boolean {
    const cost = characterCost + wordCost * start.length;
    active.set(sets[number] ?? start);
    for (let at = from; at < to; at++) {
      if (!spend(work, cost)) return false;
      const code = text.codePointAt(at) ?? 0;
      if (code > 0xffff) at++;
      step(active, code, other);
      [active, other] = [other, active];
    }
    return accepts(active);
  }

  return (text, from, to, work) => {
    let number = 0;
    for (let at = from; at < to; at++) {
      const code = text.charCodeAt(at);
      if (code >= asciiCodes) return compute(number, text, at, to, work);
      const known = (nextOf[number * asciiCodes + code] ?? 0) - 1;
      if (known < 0 && !spend(work, learnCost + wordCost * start.length)) return false;
      const next = known >= 0 ? known : learn(number, code);
      if (next < 0) return compute(number, text, at, to, work);
      number = next;
    }
    work.left -= Math.max(to - from, 0);
    return accepts(sets[number] ?? start);
  };
}
